// Functions that make elements, words and times. They insert all text from a job as text, never as markup.

export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'width%') element.style.width = `${value}%`;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function svg(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Returns a key that identifies an element for the user (its kind, label or text). Part.show uses it to find the same
// element again after a rebuild.
const nameOf = (element) => [element.tagName, element.closest('[data-name]')?.dataset.name,
  element.id || element.getAttribute('href') || element.getAttribute('aria-label') || element.textContent].join('\n');

// A part of the page. show() rebuilds it only when its content has changed, so that nothing flickers. The focus and open
// <details> survive a rebuild. While the user presses a link or button in it, it is not rebuilt.
export class Part {
  constructor(element) {
    this.element = element;
    this.key = undefined;
  }
  show(content, build) {
    const key = JSON.stringify(content);
    if (key === this.key || this.element.querySelector(':is(a, button, summary):active')) return;
    this.key = key;
    const focus = this.element.contains(document.activeElement) ? nameOf(document.activeElement) : null;
    const open = new Set([...this.element.querySelectorAll('details[open] > summary')].map(nameOf));
    const children = build();
    this.element.hidden = children === null;
    this.element.replaceChildren(...(children === null ? [] : [children].flat(Infinity).filter(Boolean)));
    for (const summary of open.size ? this.element.querySelectorAll('summary') : []) {
      if (open.has(nameOf(summary))) summary.parentElement.open = true;
    }
    if (focus === null) return;
    for (const element of this.element.querySelectorAll('a, button, summary, input, [tabindex]')) {
      if (nameOf(element) === focus) return element.focus({preventScroll: true});
    }
  }
  // Replaces one text in the part, without a rebuild. For texts that change all the time, such as an age.
  text(name, words) {
    const place = this.element.querySelector(`[data-text="${CSS.escape(name)}"]`);
    if (place && place.textContent !== words) place.textContent = words;
  }
}

export const path = (...parts) => '#/' + parts.map(encodeURIComponent).join('/');

export const plural = (count, noun) => `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

// "0.4 s", "12 s", "3 min 5 s", "2 h 10 min", "3 d 4 h"
export function age(ms) {
  if (ms < 0) ms = 0;
  if (ms < 10000) return `${Math.round(ms / 100) / 10} s`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 ? ` ${s % 60} s` : ''}`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h${s % 3600 >= 60 ? ` ${Math.floor(s / 60) % 60} min` : ''}`;
  return `${Math.floor(s / 86400)} d ${Math.floor(s / 3600) % 24} h`;
}

export const clock = (ms) => new Date(ms).toLocaleTimeString('en-GB');
export const day = (ms) => new Date(ms).toLocaleDateString('en-GB', {weekday: 'short', day: 'numeric', month: 'short', year: 'numeric'});
export const moment = (ms) => `${day(ms)}, ${clock(ms)}`;

// How each phase and state looks: its kind (which sets the colour), and its sign.
const looks = {
  forming: ['wait', '◔'], recovering: ['wait', '↻'], running: ['run', '▶'], stopping: ['idle', '■'],
  failed: ['fail', '✕'], succeeded: ['done', '✓'],
  connected: ['run', '▶'], spare: ['idle', '+'], draining: ['idle', '↓'], disconnected: ['away', '?'], lost: ['fail', '✕'],
  settled: ['done', '✓'], left: ['idle', '←'], drained: ['idle', '↓'], replaced: ['idle', '⇄'],
  assigned: ['wait', '◔'], done: ['done', '✓'], stopped: ['idle', '■'], idle: ['idle', '–'], gone: ['idle', '←'],
};
export const lookOf = (word) => looks[word] ?? ['idle', '·'];

export function stateBadge(word) {
  const [kind, sign] = lookOf(word);
  return h('span', {class: `state s-${kind}`}, h('span', {class: 'sign', 'aria-hidden': 'true'}, sign), word);
}

// What a process does, in words for its state of proc(5); null: nothing that a person has to know.
export const haltOf = (state) => ({T: 'stopped by a signal or a debugger', t: 'stopped by a debugger', D: 'in uninterruptible sleep: it waits for a disk, a file server or a device'}[state] ?? null);

// A button that copies the text, where the browser allows it (HTTPS or loopback).
export function copyButton(text) {
  if (!navigator.clipboard) return null;
  const button = h('button', {type: 'button', onclick: async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  }}, 'Copy');
  return button;
}

// True if the cause is no failure: a person stopped the processes, or told a node to leave.
export const isPlanned = (cause) => cause.kind === 'stopped_by_user' || (cause.kind === 'node_left' && cause.signal !== 0 && cause.signal !== 9);

export const hasEnded = (phase) => ['failed', 'stopped', 'succeeded'].includes(phase);

// Returns a run's state in one sentence. Uses the scheduler's own texts where it has any.
export function sentenceOf(run) {
  const cause = run.outcome?.cause;
  if (run.phase === 'failed') return cause ? `Failed: ${cause.text}` : 'Failed';
  if (run.phase === 'stopped') return cause.text.startsWith('stopped ') ? `S${cause.text.slice(1)}` : `Stopped: ${cause.text}`;
  if (run.phase === 'succeeded') return `Succeeded ${moment(run.outcome.ended_unix_ms)}`;
  // Only what is here and what is needed: the part below has the rest, with the time left.
  if (run.waiting) return ({recovering: 'Recovering: ', running: 'Running: '}[run.phase] ?? 'Forming: ') + run.waiting.text.split('; ')[0];
  if (run.phase === 'stopping') return 'Stopping all processes' + (run.last_abort ? `: ${run.last_abort.text}` : '');
  if (run.phase !== 'running') return run.phase;
  const nodes = plural(run.nodes_here - run.spares, 'node');  // spares run nothing
  let text = `${plural(run.processes_running, 'process').replace('processs', 'processes')} on ${nodes}`;
  if (run.processes_running === 0 && run.processes_done === 0) text = `Starting on ${nodes}`;
  else if (run.processes_done > 0) text += ` run, ${run.processes_done.toLocaleString('en')} done`;
  else text += run.processes_running === 1 ? ' runs' : ' run';
  if (run.halted) text += `; ${run.halted}`;
  if (run.silent_nodes) text += `; not heard from: ${run.silent_nodes}`;
  else if (run.nodes_disconnected > 0) text += `; ${plural(run.nodes_disconnected, 'node')} disconnected`;
  return text;
}

let said = '';
// Makes screen readers say the text. Does nothing if it is the same as the last one.
export function announce(text) {
  if (text === said) return;
  said = text;
  document.getElementById('announce').textContent = text;
}
