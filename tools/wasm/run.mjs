// Runs pytest in CPython as WebAssembly: node run.mjs PYODIDE_FOLDER WHEELS_FOLDER TREE ARGUMENTS...
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, wheels, tree, ...tests] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(path.join(pyodide, "pyodide.mjs")));
const python = await loadPyodide({ env: { HOME: "/home/pyodide", TESTS: JSON.stringify(tests) } });
const packages = python.runPython("import sysconfig; sysconfig.get_path('purelib')");
for (const name of fs.readdirSync(wheels).filter((name) => name.endsWith(".whl"))) {
  python.unpackArchive(new Uint8Array(fs.readFileSync(path.join(wheels, name))), "whl", { extractDir: packages });
}
python.FS.mkdir("/tree");
python.FS.mount(python.FS.filesystems.NODEFS, { root: tree }, "/tree");
process.exitCode = python.runPython(`
import importlib, json, os, sys
importlib.invalidate_caches()
os.chdir("/tree")
sys.path[:] = ["/tree/tools/wasm", *filter(None, sys.path)]  # actorflow is that of the wheel
import pytest
int(pytest.main(["-p", "without_threads", "-p", "no:cacheprovider", *json.loads(os.environ["TESTS"])]))
`);
