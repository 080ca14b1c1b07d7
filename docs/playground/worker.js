// Runs Python in a worker, so that the page stays responsive. All files come from the folder of the page.
const here = new URL(".", import.meta.url);
const bundle = new URL("bundle/", here);

const report = (message) => self.postMessage(message);

async function read(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.pathname} is missing (status ${response.status})`);
  return response;
}

async function start() {
  const manifest = await (await read(new URL("manifest.json", bundle))).json();
  report({ progress: "Python" });
  const { loadPyodide } = await import(new URL("pyodide.mjs", bundle).href);
  const python = await loadPyodide({ indexURL: bundle.href });
  report({ progress: "pydantic" });
  await python.loadPackage(manifest.wheels.map((name) => new URL(name, bundle).href), { messageCallback: () => {} });
  report({ progress: "formatbridge" });
  const library = await (await read(new URL("formatbridge.zip", bundle))).arrayBuffer();
  const site = python.runPython("import site; site.getsitepackages()[0]");
  python.unpackArchive(library, "zip", { extractDir: site });
  const program = await (await read(new URL("convert.py", here))).text();
  const scope = python.toPy({ __name__: "playground" });
  python.runPython(program, { globals: scope });
  return scope.get("convert");
}

const ready = start();
ready.then(
  () => report({ isReady: true }),
  (error) => report({ failure: error.message }),
);

self.onmessage = async ({ data }) => {
  const { number, text, kind, source, target } = data;
  try {
    const convert = await ready;
    report({ number, result: JSON.parse(convert(text, kind, source, target)) });
  } catch (error) {
    report({ number, result: { error: `The conversion failed: ${error.message}` } });
  }
};
