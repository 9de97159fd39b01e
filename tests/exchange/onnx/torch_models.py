"""Ten architectures with random weights, as PyTorch exports them, with their answers (torch 2.13, transformers 5.23, onnxscript).

    python tests/exchange/onnx/torch_models.py FOLDER [NAME...]

writes, for each, `NAME.onnx` and `NAME.npz` with its inputs (`in0`, ...), outputs (`out0`, ...) and a second set for a batch of
eight (`in0_8`, ...). The tests and benchmarks of imports read that folder.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("resnet", "mobilenet", "yolo", "vit", "bert", "distilbert", "gpt2", "llama", "t5", "whisper")
IMAGE = (3, 64, 64)
WORDS, LENGTH = 1000, 32


def _transformers(name: str, config: str, **options: Any) -> Any:
    library: Any = importlib.import_module("transformers")
    made = getattr(library, config)(**options)
    made._attn_implementation = "eager"
    return getattr(library, name)(made).eval()


def _outputs(model: Any, pick: Callable[..., Any]) -> Any:
    torch: Any = importlib.import_module("torch")

    class Picked(torch.nn.Module):  # type: ignore[misc]  # torch is not there for the checker
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, *inputs: Any) -> Any:
            return pick(self.inner, *inputs)

    return Picked().eval()


def _convolutional(torch: Any) -> dict[str, Callable[[], Any]]:
    """ResNet, MobileNet and a detector of the family of YOLO, written here: torchvision is not needed."""
    nn = torch.nn

    def block(inner: int, outer: int, stride: int) -> Any:
        class Bottleneck(nn.Module):  # type: ignore[misc,name-defined]
            def __init__(self) -> None:
                super().__init__()
                middle = outer // 4
                self.path = nn.Sequential(
                    nn.Conv2d(inner, middle, 1, bias=False), nn.BatchNorm2d(middle), nn.ReLU(),
                    nn.Conv2d(middle, middle, 3, stride, 1, bias=False), nn.BatchNorm2d(middle), nn.ReLU(),
                    nn.Conv2d(middle, outer, 1, bias=False), nn.BatchNorm2d(outer),
                )  # fmt: skip
                same = stride == 1 and inner == outer
                self.short = nn.Identity() if same else nn.Sequential(
                    nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
                )  # fmt: skip

            def forward(self, x: Any) -> Any:
                return torch.relu(self.path(x) + self.short(x))

        return Bottleneck()

    def resnet() -> Any:
        widths, layers, inner = (128, 256, 512, 1024), [], 32
        for at, (width, count) in enumerate(zip(widths, (3, 4, 6, 3))):
            for number in range(count):
                layers.append(block(inner, width, 2 if at and not number else 1))
                inner = width
        stem = [nn.Conv2d(3, 32, 7, 2, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        return nn.Sequential(*stem, *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inner, 1000))

    def inverted(inner: int, outer: int, stride: int, factor: int) -> Any:
        class Inverted(nn.Module):  # type: ignore[misc,name-defined]
            def __init__(self) -> None:
                super().__init__()
                middle = inner * factor
                self.path = nn.Sequential(
                    nn.Conv2d(inner, middle, 1, bias=False), nn.BatchNorm2d(middle), nn.ReLU6(),
                    nn.Conv2d(middle, middle, 3, stride, 1, groups=middle, bias=False), nn.BatchNorm2d(middle), nn.ReLU6(),
                    nn.Conv2d(middle, outer, 1, bias=False), nn.BatchNorm2d(outer),
                )  # fmt: skip

            def forward(self, x: Any) -> Any:
                return x + self.path(x) if stride == 1 and inner == outer else self.path(x)

        return Inverted()

    def mobilenet() -> Any:
        layers, inner = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6()], 16
        for factor, width, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1)):
            for number in range(count):
                layers.append(inverted(inner, width, stride if not number else 1, factor))
                inner = width
        layers += [nn.Conv2d(inner, 512, 1, bias=False), nn.BatchNorm2d(512), nn.ReLU6()]
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))

    def conv(inner: int, outer: int, size: int = 1, stride: int = 1) -> Any:
        return nn.Sequential(
            nn.Conv2d(inner, outer, size, stride, size // 2, bias=False), nn.BatchNorm2d(outer), nn.SiLU()
        )

    class Yolo(nn.Module):  # type: ignore[misc,name-defined]
        """SiLU, a pyramid of pools, upsampling and joins, and a head over distributions, as in YOLO v8."""

        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(conv(3, 16, 3, 2), conv(16, 32, 3, 2), conv(32, 64, 3, 2))
            self.down = conv(64, 128, 3, 2)
            self.before, self.after = conv(128, 64), conv(256, 128)
            self.pool = nn.MaxPool2d(5, 1, 2)
            self.up = nn.Upsample(scale_factor=2, mode="nearest")
            self.join = conv(192, 64)
            self.heads = nn.ModuleList([nn.Conv2d(64, 64 + 20, 1), nn.Conv2d(128, 64 + 20, 1)])

        def forward(self, x: Any) -> Any:
            fine = self.stem(x)
            coarse = self.before(self.down(fine))
            pools = [coarse]
            for _ in range(3):
                pools.append(self.pool(pools[-1]))
            coarse = self.after(torch.cat(pools, 1))
            fine = self.join(torch.cat([fine, self.up(coarse)], 1))
            found = torch.cat([head(x).flatten(2) for head, x in zip(self.heads, (fine, coarse))], 2)
            boxes, classes = found.split([64, 20], 1)
            shares = boxes.view(boxes.shape[0], 4, 16, -1).softmax(2)
            distances = (shares * torch.arange(16.0).view(1, 1, 16, 1)).sum(2)
            low, high = distances.chunk(2, 1)
            return torch.cat([(high - low) / 2, high + low, classes.sigmoid()], 1)

    return {"resnet": resnet, "mobilenet": mobilenet, "yolo": Yolo}


def models() -> dict[str, tuple[Callable[[], Any], str]]:
    """The function that makes each model, and the kinds of its inputs: `image`, `words`, `sound`."""
    torch: Any = importlib.import_module("torch")
    nets = _convolutional(torch)
    text = {"vocab_size": WORDS}
    bert = text | {
        "hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 512,
    }  # fmt: skip

    def hidden(model: Any, *inputs: Any) -> Any:
        return model(*inputs)[0]

    def no_cache(model: Any, words: Any) -> Any:
        return model(words, use_cache=False)[0]

    def both(model: Any, one: Any, words: Any) -> Any:
        return model(one, decoder_input_ids=words, use_cache=False)[0]

    return {
        "resnet": (nets["resnet"], "image"),
        "mobilenet": (nets["mobilenet"], "image"),
        "yolo": (nets["yolo"], "image"),
        "vit": (
            lambda: _outputs(
                _transformers(
                    "ViTForImageClassification",
                    "ViTConfig",
                    hidden_size=128,
                    num_hidden_layers=4,
                    num_attention_heads=4,
                    intermediate_size=512,
                    image_size=64,
                    patch_size=8,
                    num_labels=100,
                ),
                hidden,
            ),
            "image",
        ),
        "bert": (lambda: _outputs(_transformers("BertModel", "BertConfig", **bert), hidden), "words"),
        "distilbert": (
            lambda: _outputs(
                _transformers(
                    "DistilBertModel", "DistilBertConfig", **text, dim=128, n_layers=4, n_heads=4, hidden_dim=512
                ),
                hidden,
            ),
            "words",
        ),
        "gpt2": (
            lambda: _outputs(
                _transformers("GPT2LMHeadModel", "GPT2Config", **text, n_embd=128, n_layer=4, n_head=4), no_cache
            ),
            "words",
        ),
        "llama": (
            lambda: _outputs(_transformers("LlamaForCausalLM", "LlamaConfig", **bert, num_key_value_heads=2), no_cache),
            "words",
        ),
        "t5": (
            lambda: _outputs(
                _transformers(
                    "T5ForConditionalGeneration",
                    "T5Config",
                    **text,
                    d_model=128,
                    d_kv=32,
                    d_ff=512,
                    num_layers=2,
                    num_heads=4,
                ),
                both,
            ),
            "words words",
        ),
        "whisper": (
            lambda: _outputs(
                _transformers(
                    "WhisperForConditionalGeneration",
                    "WhisperConfig",
                    **text,
                    d_model=128,
                    encoder_layers=2,
                    decoder_layers=2,
                    encoder_attention_heads=4,
                    decoder_attention_heads=4,
                    encoder_ffn_dim=512,
                    decoder_ffn_dim=512,
                    num_mel_bins=80,
                    max_source_positions=100,
                    pad_token_id=0,
                    bos_token_id=1,
                    eos_token_id=2,
                    decoder_start_token_id=3,
                ),
                both,
            ),
            "sound words",
        ),
    }


def _input(kind: str, batch: int, generator: Any) -> Any:
    if kind == "words":
        return generator.integers(1, WORDS, (batch, LENGTH))
    shape = (batch, *IMAGE) if kind == "image" else (batch, 80, 200)
    return generator.standard_normal(shape).astype(np.float32)


def main(folder: Path, names: list[str]) -> None:
    """Exports the models."""
    torch: Any = importlib.import_module("torch")
    folder.mkdir(parents=True, exist_ok=True)
    for name, (make, kinds) in models().items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        model = make().eval()
        for part in model.modules():  # averages that are none, as after a training
            if isinstance(part, torch.nn.BatchNorm2d):
                part.running_mean.normal_(0, 0.1)
                part.running_var.uniform_(0.5, 1.5)
        generator = np.random.default_rng(0)
        stored = {}
        for suffix, batch in (("", 1), ("_8", 8)):
            given = [_input(kind, batch, generator) for kind in kinds.split()]
            with torch.no_grad():
                answer = model(*map(torch.from_numpy, given))
            stored |= {f"in{at}{suffix}": value for at, value in enumerate(given)}
            stored[f"out0{suffix}"] = answer.numpy()
        sample = tuple(torch.from_numpy(_input(kind, 2, generator)) for kind in kinds.split())
        dimension = torch.export.Dim("batch", min=1, max=64)
        exported = torch.onnx.export(
            model, sample, dynamo=True, dynamic_shapes=({0: dimension},) * len(sample) if name in _PLAIN else
            (tuple({0: dimension} for _ in sample),), opset_version=18,
        )  # fmt: skip
        exported.save(str(folder / f"{name}.onnx"))
        np.savez(folder / f"{name}.npz", **stored)
        print(name, "written", flush=True)


_PLAIN = ("resnet", "mobilenet", "yolo")

if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
