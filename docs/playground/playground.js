// The page of the playground. Conversions run in worker.js; the body never leaves the browser.
const SEVERITIES = ["info", "lossy", "impossible"];
const NAMES = {
  chat_completions: "OpenAI Chat Completions",
  messages: "Anthropic Messages",
  responses: "OpenAI Responses",
  generate_content: "Google Gemini generateContent",
};
const KINDS = { request: "request", response: "response", stream: "stream", error: "error", models: "list of models" };
const LONG_LINK = 8000; // characters; many chat programs truncate longer links
const DELAY = 500; // milliseconds after the last key

const byId = (id) => document.getElementById(`pg-${id}`);
const form = document.getElementById("playground");
const [source, target, kind, example, text] = ["source", "target", "kind", "example", "text"].map(byId);
const [status, error, result] = ["status", "error", "result"].map(byId);
const state = { worker: null, isReady: false, number: 0, timer: 0, after: "", last: null };

// --- Conversion

function start() {
  const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => {
    if (data.progress) show(`Loading ${data.progress} …`);
    else if (data.failure) fail(`The playground did not load: ${data.failure}`);
    else if (data.isReady) onReady();
    else if (data.number === state.number) onResult(data.result);
  };
  worker.onerror = (event) => fail(`The playground did not load: ${event.message || "the browser cannot run it"}`);
  state.worker = worker;
}

function onReady() {
  state.isReady = true;
  show("Ready.");
  if (text.value.trim()) convert();
}

function convert() {
  clearTimeout(state.timer);
  if (!text.value.trim()) {
    result.hidden = true;
    fail("");
    show("Paste a body, or choose an example.");
    return;
  }
  state.number += 1;
  const fields = { text: text.value, kind: kind.value, source: source.value, target: target.value };
  state.worker.postMessage({ number: state.number, ...fields });
  if (state.isReady) show("Converting …");
}

function onResult(data) {
  fail(data.error ?? "");
  result.hidden = !data.before;
  if (!data.before) {
    show("Not converted.");
    return;
  }
  state.last = data;
  byId("before-title").textContent = `${NAMES[data.source]}, ${KINDS[data.kind]}`;
  byId("after-title").textContent = NAMES[data.target] + (data.path ? `, POST ${data.path}` : "");
  state.after = data.after.map(([, line]) => line).join("\n");
  const isText = data.kind === "stream";
  draw(byId("before"), data.before, isText ? [] : data.losses);
  draw(byId("after"), data.after, isText ? [] : data.additions.map((one) => ({ ...one, severity: "added" })));
  drawReport(data);
  show(`Converted. ${summary(data)}`);
}

function summary({ losses, additions }) {
  const count = (number, one, many) => `${number} ${number === 1 ? one : many}`;
  return `${count(losses.length, "loss", "losses")}, ${count(additions.length, "addition", "additions")}.`;
}

// --- Drawing

function element(name, className, content) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (content !== undefined) made.textContent = content;
  return made;
}

const covers = (path, pointer) => pointer === path || pointer.startsWith(`${path}/`);

function draw(pane, lines, entries) {
  const noted = new Set();
  pane.replaceChildren(
    ...lines.map(([pointer, content]) => {
      const line = element("span", "pg-line", content);
      line.dataset.pointer = pointer;
      line.style.setProperty("--pg-indent", content.search(/\S|$/) + 2);
      const marks = entries.filter((entry) => entry.path !== "" && covers(entry.path, pointer));
      if (marks.length) {
        const worst = marks.reduce((a, b) => (SEVERITIES.indexOf(b.severity) > SEVERITIES.indexOf(a.severity) ? b : a));
        line.classList.add(worst.severity);
        for (const entry of marks.filter((one) => !noted.has(one))) {
          noted.add(entry);
          line.append(element("span", "pg-note", `  ← ${entry.severity}: ${entry.why}`));
        }
      }
      return line;
    }),
  );
  pane.scrollTop = 0;
}

function drawReport(data) {
  const rows = [
    ...data.losses.map((loss) => ({ ...loss, change: loss.kind, pane: "before" })),
    ...data.additions.map((one) => ({ ...one, severity: "added", change: "added", pane: "after" })),
  ];
  byId("summary").textContent = rows.length ? summary(data) : "Nothing is lost, and nothing is added.";
  byId("report").hidden = !rows.length;
  byId("report").tBodies[0].replaceChildren(...rows.map((row) => drawRow(row, data.kind !== "stream")));
}

function drawRow(row, hasLines) {
  const line = element("tr");
  const cell = (...children) => {
    const td = element("td");
    td.append(...children);
    line.append(td);
  };
  const isAdded = row.severity === "added";
  cell(element("span", `pg-severity ${row.severity}`, isAdded ? "addition" : row.severity));
  const path = element(hasLines ? "button" : "code", hasLines ? "pg-path" : "", row.path || "body");
  if (hasLines) {
    path.type = "button";
    path.setAttribute("aria-label", `${row.path || "body"}, show the line`);
    path.addEventListener("click", () => point(byId(row.pane), row.path));
  }
  cell(path);
  cell(row.change);
  cell(row.why);
  const shown = (value) => element("code", "", value.length > 120 ? `${value.slice(0, 117)}…` : value);
  cell(...row.values.flatMap((value, index) => (index ? [" → ", shown(value)] : [shown(value)])));
  return line;
}

function point(pane, path) {
  for (const line of pane.querySelectorAll(".is-target")) line.classList.remove("is-target");
  const line = [...pane.children].find((one) => one.dataset.pointer === path);
  if (!line) return;
  line.classList.add("is-target");
  pane.focus({ preventScroll: true });
  line.scrollIntoView({ block: "center" });
}

function show(message) {
  status.textContent = message;
}

function fail(message) {
  error.hidden = !message;
  error.textContent = message;
}

// --- Links: the fields as JSON, compressed, in the fragment of the address

async function pipe(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

async function pack(fields) {
  const bytes = await pipe(new TextEncoder().encode(JSON.stringify(fields)), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpack(packed) {
  const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(await pipe(bytes, new DecompressionStream("deflate-raw"))));
}

async function share() {
  const fields = { text: text.value, kind: kind.value, source: source.value, target: target.value };
  const link = new URL(location.href);
  link.hash = `1.${await pack(fields)}`;
  history.replaceState(null, "", link);
  const size = link.href.length > LONG_LINK ? ` It has ${link.href.length} characters, and some programs truncate it.` : "";
  try {
    await navigator.clipboard.writeText(link.href);
    show(`The link is copied. It contains the body.${size}`);
  } catch {
    show(`The link is in the address bar. It contains the body.${size}`);
  }
}

async function openLink() {
  const packed = /^#1\.([\w-]+)$/.exec(location.hash)?.[1];
  if (!packed) return false;
  try {
    const fields = await unpack(packed);
    text.value = String(fields.text ?? "");
    kind.value = fields.kind in KINDS ? fields.kind : "";
    source.value = fields.source in NAMES ? fields.source : "";
    target.value = fields.target in NAMES ? fields.target : "messages";
    return true;
  } catch {
    fail("The link is incomplete. Its body cannot be read.");
    return false;
  }
}

// --- Events

async function loadExamples() {
  const examples = await (await fetch(new URL("examples.json", import.meta.url))).json();
  examples.forEach(({ title }, index) => example.append(new Option(title, String(index))));
  example.addEventListener("change", () => {
    const chosen = examples[Number(example.value)];
    if (example.value === "" || !chosen) return;
    text.value = typeof chosen.body === "string" ? chosen.body : JSON.stringify(chosen.body, null, 2);
    source.value = chosen.source;
    target.value = chosen.target;
    kind.value = chosen.kind;
    convert();
  });
  return examples;
}

function reverse() {
  if (!state.last) {
    show("Convert a body first.");
    return;
  }
  const { source: from, target: to, kind: what } = state.last;
  text.value = state.after;
  [source.value, target.value, kind.value] = [to, from, what];
  convert();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  convert();
});
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    convert();
  }
});
text.addEventListener("input", () => {
  clearTimeout(state.timer);
  state.timer = setTimeout(convert, DELAY);
});
for (const field of [source, target, kind]) field.addEventListener("change", convert);
byId("share").addEventListener("click", share);
byId("reverse").addEventListener("click", reverse);
byId("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(state.after);
    show("The target body is copied.");
  } catch {
    show("The browser does not allow copying. Select the text instead.");
  }
});
window.addEventListener("hashchange", async () => {
  if (await openLink()) convert();
});

show("Loading …");
start();
const hasLink = await openLink();
const examples = await loadExamples();
if (!hasLink && !text.value && !location.hash.startsWith("#1.") && examples.length) {
  example.value = "0";
  example.dispatchEvent(new Event("change"));
}
