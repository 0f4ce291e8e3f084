// Keeps a page up to date, submits the study file that the user has typed, and asks for predictions.
// The server renders every page; this script asks for the page again and replaces its <main>. Without scripts, a page
// loads itself again every few seconds while a study is at work.
"use strict";

const POLL_MS = 5000;
const IDLE_MS = 15000; // how soon a page on which nothing happens shows what has begun
const PAUSE_MS = 500;
let waiting = null;
let stream = null;
let shown = ""; // what stands in <main>, without the pictures and times that scripts have put there

async function refresh() {
  waiting = null;
  try {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    // The parser does not know that scripts run here, and would let the pictures of <noscript> be loaded.
    for (const each of page.querySelectorAll("noscript")) each.remove();
    // Pictures are loaded first, so that the page does not jump.
    await Promise.all([...page.querySelectorAll("img")].map((each) => {
      const picture = new Image();
      picture.src = each.getAttribute("src");
      return picture.decode().catch(() => {});
    }));
    const main = page.querySelector("main"), html = main.innerHTML;
    // What the user has selected in a page that is still the same stays selected.
    if (html !== shown) {
      for (const place of main.querySelectorAll("[data-figure]")) {
        const drawn = [...figures()].find((each) => each.dataset.figure === place.dataset.figure);
        if (drawn) place.replaceWith(drawn);
      }
      document.querySelector("main").replaceWith(main);
      shown = html;
      showLocalTimes();
    }
    Object.assign(document.body.dataset, {events: "", ...page.body.dataset});
    follow();
    await drawAll();
  } catch (lost) {
    // The service may be restarting. The next event or poll tries again.
  }
}

// Shows times in the time zone of the browser. The Swedish form is that of the commands: 2026-03-01 20:00.
function showLocalTimes() {
  for (const each of document.querySelectorAll("main time")) {
    each.textContent = new Date(each.dateTime).toLocaleString("sv", {dateStyle: "short", timeStyle: "short"});
  }
}

function figures() {
  return document.querySelectorAll("[data-figure]");
}

// Draws the interactive pictures, or brings them up to date. Where the user has zoomed to stays the same.
function drawAll() {
  return Promise.all([...figures()].map(async (place) => {
    const answer = await fetch(place.dataset.figure);
    if (!answer.ok || !window.Plotly) return;
    const {data, layout, config} = await answer.json();
    await Plotly.react(place, data, {...layout, uirevision: "same"}, config);
  }));
}

function refreshSoon() {
  waiting ??= setTimeout(refresh, PAUSE_MS);
}

// Follows the events of the study on this page, if it is at work.
function follow() {
  const address = document.body.dataset.events;
  if (!address || stream) return;
  stream = new EventSource(address);
  for (const name of ["trial", "status"]) stream.addEventListener(name, refreshSoon);
  stream.addEventListener("end", () => {
    stream.close();
    stream = null;
    refreshSoon();
    setTimeout(refresh, POLL_MS); // a picture that takes long to make is only in the next answer
  });
  stream.addEventListener("error", () => {
    // The browser connects again by itself, unless the service has refused the stream.
    if (stream?.readyState === EventSource.CLOSED) stream = null;
  });
}

// Asks for the page again and again while no stream says what is new: a study may begin or go on at any time. Nobody
// looks at a hidden page, and a form that the user is filling in stays.
function poll() {
  setTimeout(async () => {
    if (!stream && !document.hidden && !document.querySelector("main form :focus")) await refresh();
    poll();
  }, document.body.dataset.live === "yes" ? POLL_MS : IDLE_MS);
}

async function submit(form) {
  const outcome = document.getElementById("outcome");
  const headers = {"content-type": "application/yaml"};
  const token = form.elements.token?.value;
  if (token) headers.authorization = `Bearer ${token}`;
  const show = (what) => {
    outcome.replaceChildren(what);
    outcome.scrollIntoView({block: "nearest"}); // it is below the form, which fills a small window
  };
  show("checking ...");
  try {
    const answer = await fetch("/v1/studies", {method: "POST", headers, body: form.elements.text.value});
    const found = await answer.json();
    if (answer.ok) {
      location.href = found.links.page;
      return;
    }
    const list = document.createElement("ul");
    for (const each of found.errors ?? [{detail: found.detail}]) {
      const item = document.createElement("li");
      if (each.line) {
        const jump = document.createElement("button");
        jump.type = "button";
        jump.textContent = `line ${each.line}`;
        jump.addEventListener("click", () => selectLine(form.elements.text, each.line));
        item.append(jump, " ");
      }
      item.append(each.key ? `${each.key}: ${each.detail}` : each.detail);
      list.append(item);
    }
    show(list);
  } catch (lost) {
    show(`the service did not answer: ${lost.message}`);
  }
}

function selectLine(area, line) {
  const lines = area.value.split("\n"), start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(start, start + lines[line - 1].length);
}

// Asks for the page with the settings that the user has changed, and shows its predictions and its fields. The newest
// question wins. The other settings are those of the study: a slider would round them.
const whatIf = document.getElementById("what-if");
const touched = new Set();
let asking = null;
async function predict(moved) {
  if (moved.type === "range") {
    const number = Number(moved.value);
    moved.nextElementSibling.value = number < 1000 ? moved.value : Math.round(number).toLocaleString("en");
  }
  asking?.abort();
  asking = new AbortController();
  const asked = new URLSearchParams(location.search);
  for (const each of touched) asked.set(each.name, each.value);
  const address = `${location.pathname}?${asked}`;
  try {
    const answer = await fetch(address, {signal: asking.signal});
    const text = await answer.text(), predictions = document.getElementById("predictions");
    if (answer.ok) {
      const page = new DOMParser().parseFromString(text, "text/html");
      predictions.replaceWith(page.getElementById("predictions"));
      for (const each of page.querySelectorAll("#what-if [name]")) show(each, moved);
      history.replaceState(null, "", address);
    } else {
      predictions.textContent = JSON.parse(text).detail;
    }
  } catch (lost) {
    if (lost.name !== "AbortError") document.getElementById("predictions").textContent = `no answer: ${lost.message}`;
  }
}

// Gives a field the value and the range that it has in an answer: with another record size, the predictions begin from
// another config and another rate. The user may still be moving the field that was moved last, so that one stays.
function show(answered, moved) {
  const field = whatIf.elements[answered.name];
  if (!field || field === moved) return;
  const value = answered.value; // a list loses its value with its choices
  if (field.type === "select-one") field.replaceChildren(...answered.children);
  else for (const name of ["min", "max", "step"]) field[name] = answered[name];
  field.value = value;
  if (field.type === "range") field.nextElementSibling.value = answered.nextElementSibling.value;
}

for (const each of document.querySelectorAll("noscript")) each.remove(); // as in `refresh`, to compare both
shown = document.querySelector("main").innerHTML;
showLocalTimes();
drawAll().catch(() => {});
follow();
if (document.body.dataset.live) poll();
document.getElementById("submit")?.addEventListener("submit", (event) => {
  event.preventDefault();
  submit(event.target);
});
whatIf?.addEventListener("input", (event) => {
  touched.add(event.target);
  predict(event.target);
});
