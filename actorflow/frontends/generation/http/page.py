"""A page that shows a stream: `/generate`."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence

from actorflow.frontends.http.answers import Answer

PATH = "/generate"
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}"
    "textarea,pre{box-sizing:border-box;width:100%;font:inherit}textarea{height:5rem}"
    "pre{background:#f3f3f3;padding:.7rem;min-height:8rem;white-space:pre-wrap;overflow-wrap:anywhere}"
    "label{margin-right:1rem}input{width:5rem}"
)
_SCRIPT = """
const by = name => document.getElementById(name);
let leaving = null;
async function stream() {
  const answer = by("answer"), status = by("status");
  answer.textContent = ""; status.textContent = "waits";
  by("begin").disabled = true; by("stop").disabled = false;
  leaving = new AbortController();
  const begun = performance.now();
  let count = 0, rest = "", reason = "";
  try {
    const body = {model: by("model").value, prompt: by("prompt").value, stream: true, echo: true,
      max_tokens: Number(by("tokens").value), temperature: Number(by("temperature").value)};
    const response = await fetch("v1/completions", {method: "POST", signal: leaving.signal,
      headers: {"content-type": "application/json"}, body: JSON.stringify(body)});
    if (!response.ok) throw new Error((await response.json()).error.message);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      const events = (rest + value).split("\\n\\n");
      rest = events.pop();
      for (const event of events) {
        if (event === "data: [DONE]") continue;
        const part = JSON.parse(event.slice(6));
        if (part.error) throw new Error(part.error.message);
        answer.textContent += part.choices[0].text;
        reason = part.choices[0].finish_reason || reason;
        count += 1;
        status.textContent = Math.round(count / (performance.now() - begun) * 1000) + " parts a second";
      }
    }
    status.textContent += ", ended: " + reason;
  } catch (error) {
    status.textContent = error.name === "AbortError" ? "stopped" : error.message;
  }
  by("begin").disabled = false; by("stop").disabled = true;
}
by("begin").addEventListener("click", stream);
by("stop").addEventListener("click", () => leaving && leaving.abort());
"""
_HASH = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest())
_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%b'; connect-src 'self'; "
        b"frame-ancestors 'none'; base-uri 'none'; form-action 'none'" % _HASH,
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)


def page(models: Sequence[str]) -> Answer:
    """The page.

    Args:
        models: the names of the models that generate text.
    """
    options = "".join([f"<option>{html.escape(name)}</option>" for name in models])
    text = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>actorflow: generate</title><style>{_STYLE}</style>"
        f"<h1>Generate</h1><p><label>Model <select id=model>{options}</select></label>"
        "<label>Tokens <input id=tokens type=number value=100 min=1></label>"
        "<label>Temperature <input id=temperature type=number value=0.7 min=0 step=0.1></label></p>"
        "<textarea id=prompt aria-label=Prompt>A session </textarea>"
        "<p><button id=begin>Begin</button> <button id=stop disabled>Stop</button> <span id=status role=status></span></p>"
        f"<pre id=answer aria-live=polite></pre><script>{_SCRIPT}</script></html>"
    )
    return 200, b"text/html; charset=utf-8", text.encode(), _HEADERS
