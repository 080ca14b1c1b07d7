// Prints the version of Python in the bundle of the playground and the digest of tests/conversions.py. Argument: the folder of the project.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const bundle = `${process.argv[2]}/docs/playground/bundle/`;
const { loadPyodide } = await import(pathToFileURL(`${bundle}pyodide.mjs`));
const python = await loadPyodide({ indexURL: bundle });
const { wheels } = JSON.parse(readFileSync(`${bundle}manifest.json`));
await python.loadPackage(wheels.map((name) => bundle + name), { messageCallback() {} });
python.FS.mkdirTree('/project');
python.FS.mount(python.FS.filesystems.NODEFS, { root: process.argv[2] }, '/project');
const program = `
import sys
sys.path[:0] = ["/project/src", "/project"]
sys.dont_write_bytecode = True
from tests.conversions import digest
f"{sys.version_info.major}.{sys.version_info.minor} {digest('/project/fixtures')}"
`;
console.log(python.runPython(program));
