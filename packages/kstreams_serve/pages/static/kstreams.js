// Makes pages live: figures that change, ages that count, and a notice when the server does not respond.

const body = document.body;
const offset = Number(body.dataset.now) - Date.now();
const now = () => Date.now() + offset;

function span(seconds) {
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

function showAges() {
  for (const time of document.querySelectorAll("time[data-age]")) {
    const since = (now() - Date.parse(time.dateTime)) / 1000;
    if (Number.isNaN(since)) continue;
    time.textContent = time.dataset.age === "span" ? span(since) : since < 0.05 ? "now" : `${span(since)} ago`;
  }
}

// What is the same stays the same element: focus, selection and what is unfolded are not lost.
function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE || old.nodeType === Node.COMMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.nodeName === "TIME" && !fresh.textContent) fresh.textContent = old.textContent;
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  children(old, fresh);
}

function children(old, fresh) {
  const before = [...old.childNodes];
  const after = [...fresh.childNodes];
  after.forEach((node, place) => (before[place] ? morph(before[place], node) : old.append(node)));
  before.slice(after.length).forEach((node) => node.remove());
}

function update(regions) {
  for (const [name, html] of Object.entries(regions)) {
    const region = document.querySelector(`[data-live="${name}"]`);
    if (!region || (region.contains(document.activeElement) && document.activeElement.matches("input, select"))) continue;
    const made = document.createElement("template");
    made.innerHTML = html; // of our own server, escaped there; scripts in it would not run
    children(region, made.content);
  }
  showAges();
  addCopying();
}

const lost = document.getElementById("lost");
let source = null;
let heard = Date.now();
let tries = 0;
let timer = 0;

function say(text) {
  lost.hidden = !text;
  if (lost.textContent !== text) lost.textContent = text;
  body.classList.toggle("is-lost", Boolean(text));
}

function follow() {
  source = new EventSource(location.pathname + location.search);
  source.onmessage = (event) => {
    heard = Date.now();
    tries = 0;
    say("");
    update(JSON.parse(event.data));
    document.getElementById("pulse").textContent = "Live: the page updates when batches are committed.";
  };
  source.onopen = () => {
    heard = Date.now();
    tries = 0;
    say("");
  };
  source.addEventListener("problem", () => source.close());
  source.onerror = () => {
    source.close();
    tries += 1;
    const wait = Math.min(30, 2 ** tries / 2);
    say(`The server does not respond. The data is ${span((Date.now() - heard) / 1000)} old. Attempt ${tries} failed; the next attempt is in ${span(wait)}.`);
    clearTimeout(timer);
    timer = setTimeout(follow, wait * 1000);
  };
}

// A server that hangs says nothing, and closes nothing.
setInterval(() => {
  if (source?.readyState === EventSource.OPEN && Date.now() - heard > 12000) source.onerror();
}, 1000);

function unfollow() {
  clearTimeout(timer);
  source?.close();
  source = null;
}

function addCopying() {
  if (!navigator.clipboard) return;
  for (const command of document.querySelectorAll(".command:not(:has(button))")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(command.querySelector("pre").textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    command.append(button);
  }
}

showAges();
setInterval(() => document.hidden || showAges(), 1000);
addCopying();

document.addEventListener("keydown", (event) => {
  const box = document.querySelector("[data-slash]");
  if (event.key !== "/" || !box || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  event.preventDefault();
  box.focus();
});

if ("follow" in body.dataset) {
  follow();
  document.addEventListener("visibilitychange", () => {
    unfollow();
    if (!document.hidden) follow();
  });
  addEventListener("pagehide", unfollow);
  addEventListener("pageshow", (event) => event.persisted && follow());
}
