// A map of all nodes and ranks of a job, on one canvas. Each node is a block with a small square for each of its slots.
// Zoomed out, a block has one colour, that of its worst rank. Zoomed in, each square shows the rank's number or a sign of
// its state. Zoomed out, nodes in trouble get a mark larger than their block, so that one in 100,000 is seen.
import {get, jobPath} from './api.js';
import {announce, h, path, plural} from './dom.js';
import {live} from './live.js';

// The characters in an answer of /map, with the word, the kind (colour) and the sign of each.
const SLOTS = {
  f: ['failed', 'fail', '✕'], a: ['assigned', 'wait', '◔'], s: ['stopped', 'idle', '■'], d: ['done', 'done', '✓'],
  r: ['running', 'run', ''], '-': ['without a rank', 'none', ''],
};
const NODES = {
  l: ['lost', 'fail', '✕'], d: ['disconnected', 'away', '?'], g: ['draining', 'wait', '↓'], p: ['spare', 'none', '+'],
  c: ['connected', 'run', ''], e: ['settled', 'done', ''],
};
const WORST = ['none', 'run', 'done', 'idle', 'wait', 'away', 'fail'];
const [RUN, DONE] = [WORST.indexOf('run'), WORST.indexOf('done')];
const kindsOf = (looks) => {
  const kinds = new Uint8Array(128);
  for (const [key, [, kind]] of Object.entries(looks)) kinds[key.charCodeAt(0)] = WORST.indexOf(kind);
  return kinds;
};
const SLOT_KINDS = kindsOf(SLOTS), NODE_KINDS = kindsOf(NODES);
const GAP = 0.7;         // between nodes, in squares
const NEAR = 5;           // from this size of a square on, in pixels, each rank is drawn
const HEAD = 1.3;        // the height of a group's label, above the group, in squares
const BESIDE_GAP = 1.2;  // between groups in a row, in squares
const HEIGHT = 380;      // the most, in pixels
const NAMES_MS = 5000;   // with more than MANY nodes, fetch names at most this often
const MANY = 500;
const MOST_OUTLINES = 20000;
const MOST_MARKS = 300;  // more nodes in trouble are seen without marks, and their marks would hide other nodes

// Returns {character: how often `text` has it}. The text must be ASCII.
function countLetters(text) {
  const counts = new Uint32Array(128);
  for (let i = 0; i < text.length; ++i) ++counts[text.charCodeAt(i) & 127];
  const found = {};
  counts.forEach((count, code) => { if (count) found[String.fromCharCode(code)] = count; });
  return found;
}

export class JobMap {
  nodes = '';
  slots = '';
  names = [];
  firstSlot = new Uint32Array(1);
  x = new Float32Array(0);
  y = new Float32Array(0);
  groups = [];
  version = '';
  cursor = -1;
  hits = new Set();
  scale = 1;
  offsetX = 0;
  offsetY = 0;
  isFit = true;
  namesAt = -1e9;
  missing = 0;   // ranks that have no node yet
  outlines = 0;  // nodes that these would be; their places follow those of the nodes in `x` and `y`

  constructor(job) {
    this.job = job;
    this.canvas = h('canvas', {tabindex: 0, role: 'application', 'aria-label': 'Map of nodes and ranks',
      'aria-describedby': 'map-help'});
    this.tip = h('div', {class: 'tip', hidden: true});
    this.legend = h('ul', {class: 'legend', 'aria-label': 'What the map shows'});
    this.found = h('ul', {class: 'found', hidden: true, 'aria-label': 'Found'});
    this.input = h('input', {type: 'search', placeholder: 'Find a rank, node or host', 'aria-label': 'Find a rank, node or host',
      oninput: () => this.search(), onkeydown: (event) => this.#onSearchKey(event)});
    this.count = h('span', {class: 'count'});
    this.element = h('section', {class: 'sheet', 'aria-labelledby': 'map-title'},
      h('h2', {id: 'map-title'}, 'Nodes and ranks', this.count),
      h('div', {class: 'map-tools'}, h('div', {class: 'search'}, this.input, this.found),
        h('div', {class: 'zoom'},
          h('button', {type: 'button', 'aria-label': 'Zoom out', onclick: () => this.zoom(1 / 1.6)}, '−'),
          h('button', {type: 'button', 'aria-label': 'Zoom in', onclick: () => this.zoom(1.6)}, '+'),
          h('button', {type: 'button', onclick: () => this.fit()}, 'Fit'))),
      h('div', {class: 'map'}, this.canvas, this.tip),
      this.legend,
      h('p', {class: 'unseen', id: 'map-help'}, 'Arrow keys go from node to node, Enter opens one, plus and minus zoom.'));
    this.#listen();
    this.observer = new ResizeObserver(() => this.#resize());
    this.observer.observe(this.canvas);
    this.onTheme = () => this.paint();
    window.addEventListener('themechange', this.onTheme);
  }

  close() {
    this.observer.disconnect();
    window.removeEventListener('themechange', this.onTheme);
    this.isClosed = true;
  }

  // Hides the map, because there is no run to show. The next refresh with a run shows it again.
  hide() {
    this.element.hidden = true;
    this.names = [];
    this.nodes = this.slots = this.version = '';
  }

  // Fetches the map. Fetches the names of nodes only when they have changed. With more than MANY nodes it does so at most
  // once in NAMES_MS; until then the picture stays as it is.
  async refresh(run) {
    if (this.isAsking || this.isClosed) return;
    this.isAsking = true;
    try {
      const query = (names) => `${jobPath(this.job, '/map')}?run=${run}&names=${names}`;
      let map = await get(query(this.names.length ? 0 : 1));
      if (map.names_version !== this.version && !map.names.length && map.nodes.length) {
        const isTooEarly = map.nodes.length > MANY && performance.now() - this.namesAt < NAMES_MS;
        map = isTooEarly ? null : await get(query(1));
      }
      if (map?.names.length) this.namesAt = performance.now();
      if (map && !this.isClosed && live.runOf(this.job)) this.#take(map);
    } catch {
      // main.js shows that the scheduler does not answer
    }
    this.isAsking = false;
  }

  // Shows empty outlines for ranks that have no node yet.
  showMissing(ranks) {
    if (ranks === this.missing) return;
    this.missing = ranks;
    if (this.names.length) this.#arrange();
    this.paint();
  }

  #take(map) {
    const isOther = map.names_version !== this.version;
    if (!isOther && map.nodes === this.nodes && map.slots === this.slots) return;
    this.nodes = map.nodes;
    this.slots = map.slots;
    if (isOther) {
      this.kinds = new Uint8Array(map.nodes.length);
      this.names = map.names;
      this.version = map.names_version;
      this.cursor = -1;
      this.firstSlot = new Uint32Array(map.nodes.length + 1);
      this.names.forEach((name, i) => { this.firstSlot[i + 1] = this.firstSlot[i] + name.slots; });
      this.#arrange();
      this.search();
    }
    this.#judge();
    this.#describe();
    this.paint();
  }

  // Returns the nodes that are lost, disconnected, draining or spare, in this order: [{node_id, host_name, state}].
  oddNodes() {
    const found = [];
    for (const key of ['l', 'd', 'g', 'p']) {
      for (let node = this.nodes.indexOf(key); node >= 0; node = this.nodes.indexOf(key, node + 1)) {
        if (this.names[node]) found.push({node_id: this.names[node].node_id, host_name: this.names[node].host_name, state: NODES[key][0]});
      }
    }
    return found;
  }

  #describe() {
    const nodes = countLetters(this.nodes), slots = countLetters(this.slots);
    const item = ([word, kind, sign], count, noun) => h('li', {},
      h('span', {class: `key k-${kind}`, 'aria-hidden': 'true'}, sign), h('b', {}, count.toLocaleString('en')), ` ${noun}${word}`);
    this.legend.replaceChildren(
      ...Object.entries(SLOTS).filter(([key]) => slots[key]).map(([key, look]) => item(look, slots[key], '')),
      ...['l', 'd', 'g', 'p'].filter((key) => nodes[key]).map((key) => item(NODES[key], nodes[key], nodes[key] === 1 ? 'node ' : 'nodes ')));
    this.count.textContent = `${plural(this.nodes.length, 'node')}, ${plural(this.slots.length, 'place')} for ranks`;
    this.canvas.setAttribute('aria-label', `Map: ${this.count.textContent}; ` +
      Object.entries(slots).map(([key, count]) => `${count} ${SLOTS[key]?.[0] ?? key}`).join(', '));
    this.element.hidden = this.nodes.length === 0;
  }

  // Computes the place of each node's block: in rows, one group (nodes with the same label) after the other.
  #arrange() {
    const count = this.names.length;
    const most = this.names.reduce((most, name) => Math.max(most, name.slots), 1);
    this.columns = Math.max(1, Math.ceil(Math.sqrt(most)));
    if (most === 8) this.columns = 4;
    this.rows = Math.ceil(most / this.columns);
    const groups = new Map();
    this.names.forEach((name, i) => {
      if (!groups.has(name.label)) groups.set(name.label, []);
      groups.get(name.label).push(i);
    });
    this.outlines = Math.min(MOST_OUTLINES, Math.ceil(this.missing / most));
    const outlined = Array.from({length: this.outlines}, (_, i) => count + i);
    const sorted = [...groups].sort(([a], [b]) => a.localeCompare(b, 'en', {numeric: true}));
    if (sorted.length === 1) sorted[0][1].push(...outlined);
    else if (this.outlines) sorted.push(['not here yet', outlined]);
    const hasHeads = sorted.length > 1 && sorted.length <= 200;
    const wide = this.columns + GAP, high = this.rows + GAP;
    const {across, beside} = this.#shape(sorted.map(([, members]) => members.length), wide, high, hasHeads);
    this.x = new Float32Array(count + this.outlines);
    this.y = new Float32Array(count + this.outlines);
    this.groups = [];
    let y = 0, tallest = 0;
    sorted.forEach(([label, members], number) => {
      if (number % beside === 0) {
        y += tallest;
        tallest = 0;
      }
      const x = (number % beside) * (across * wide + BESIDE_GAP), top = y + (hasHeads ? HEAD : 0);
      members.sort((a, b) => (this.names[a]?.ranks[0] ?? 1e9) - (this.names[b]?.ranks[0] ?? 1e9) || a - b);
      if (hasHeads) this.groups.push({label: label || 'without a label', x, y});
      members.forEach((node, i) => {
        this.x[node] = x + (i % across) * wide;
        this.y[node] = top + Math.floor(i / across) * high;
      });
      tallest = Math.max(tallest, (hasHeads ? HEAD + 0.6 : 0) + Math.ceil(members.length / across) * high);
    });
    y += tallest;
    this.width = beside * (across * wide + BESIDE_GAP) - BESIDE_GAP - GAP;
    this.height = Math.max(1, y - GAP - (hasHeads ? 0.6 : 0));
    if (this.isFit) this.fit();
  }

  // Returns how many nodes make a row of a group (across), and how many groups stand in a row (beside), so that the
  // blocks are as large as the canvas allows.
  #shape(sizes, wide, high, hasHeads) {
    const most = Math.max(1, ...sizes);
    let best = {across: 1, beside: 1}, largest = 0;
    const next = (number) => Math.max(number + 1, Math.floor(number * 1.1));
    for (let beside = 1; beside <= Math.min(sizes.length, 40); beside = next(beside)) {
      for (let across = 1; across <= most; across = next(across)) {
        let tall = 0;
        for (let i = 0; i < sizes.length; i += beside) {
          tall += Math.ceil(Math.max(...sizes.slice(i, i + beside)) / across) * high + (hasHeads ? HEAD + 0.6 : 0);
        }
        const scale = Math.min(26, ((this.canvas.clientWidth || 800) - 24) / (beside * (across * wide + BESIDE_GAP)), (HEIGHT - 24) / tall);
        if (scale < largest * 1.001 && !(scale > 25.9 && tall < best.tall)) continue;
        largest = scale;
        best = {across, beside, tall};
      }
    }
    return best;
  }

  fit() {
    this.isFit = true;
    const width = this.canvas.clientWidth - 24;
    this.scale = Math.max(0.05, Math.min(width / this.width, (HEIGHT - 24) / this.height, 26));
    this.offsetX = 12;
    this.offsetY = 12;
    const wanted = Math.min(HEIGHT, Math.max(72, Math.ceil(this.height * this.scale + 24)));
    if (this.canvas.style.height !== `${wanted}px`) this.canvas.style.height = `${wanted}px`;
    this.paint();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(60, Math.max(0.05, this.scale * factor));
    this.offsetX = x - ((x - this.offsetX) * scale) / this.scale;
    this.offsetY = y - ((y - this.offsetY) * scale) / this.scale;
    this.scale = scale;
    this.isFit = false;
    this.paint();
  }

  #centre(node, scale = Math.max(this.scale, 18)) {
    if (this.isFit && this.scale >= 12) return;
    this.scale = scale;
    this.offsetX = this.canvas.clientWidth / 2 - (this.x[node] + this.columns / 2) * scale;
    this.offsetY = this.canvas.clientHeight / 2 - (this.y[node] + this.rows / 2) * scale;
    this.isFit = false;
  }

  #resize() {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(this.canvas.clientWidth * ratio), height = Math.round(this.canvas.clientHeight * ratio);
    if (!width || (this.canvas.width === width && this.canvas.height === height)) return;
    const isOtherWidth = this.canvas.width !== width;
    this.canvas.width = width;
    this.canvas.height = height;
    if (isOtherWidth && this.isFit && this.names.length) this.#arrange();
    this.paint(true);
  }

  paint(now = false) {
    if (now) return this.#paint();
    if (this.isPainting) return;
    this.isPainting = true;
    requestAnimationFrame(() => this.#paint());
  }

  // Computes each node's kind: the worst of its own state and its ranks' states. Done once for each change, so that
  // painting a frame is cheap.
  #judge() {
    this.kinds = new Uint8Array(this.nodes.length);
    for (let node = 0; node < this.nodes.length; ++node) {
      const state = NODE_KINDS[this.nodes.charCodeAt(node)];
      let worst = state === RUN || state === DONE ? 0 : state;
      for (let i = this.firstSlot[node]; i < this.firstSlot[node + 1]; ++i) {
        const kind = SLOT_KINDS[this.slots.charCodeAt(i)];
        if (kind > worst) worst = kind;
      }
      this.kinds[node] = worst;
    }
  }

  #paint() {
    this.isPainting = false;
    const context = this.canvas.getContext('2d');
    const ratio = window.devicePixelRatio || 1;
    const css = getComputedStyle(document.documentElement);
    const colours = Object.fromEntries(['run', 'done', 'wait', 'fail', 'away', 'idle'].map((kind) => [kind, css.getPropertyValue(`--${kind}`)]));
    colours.none = css.getPropertyValue('--line-strong');
    const ink = css.getPropertyValue('--ink'), paper = css.getPropertyValue('--sheet');
    const width = this.canvas.width / ratio, height = this.canvas.height / ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const {scale, offsetX, offsetY} = this;
    const showsSlots = scale >= NEAR;
    const gap = scale >= 10 ? 2 : scale >= 5 ? 1 : 0.5;
    const rects = Object.fromEntries(WORST.map((kind) => [kind, []]));
    const words = [], troubles = [];
    for (let node = 0; node < this.names.length; ++node) {
      const x = offsetX + this.x[node] * scale, y = offsetY + this.y[node] * scale;
      if (x > width || y > height || x + this.columns * scale < 0 || y + this.rows * scale < 0) continue;
      const kind = WORST[this.kinds[node]];
      if (kind === 'fail' || kind === 'away') troubles.push([x, y, kind]);
      if (!showsSlots) {
        rects[kind].push(x, y, Math.max(0.8, this.columns * scale - 0.3), Math.max(0.8, this.rows * scale - 0.3));
        continue;
      }
      const [, nodeKind, nodeSign] = NODES[this.nodes[node]] ?? ['', 'none', ''];
      const isWhole = nodeKind !== 'run' && nodeKind !== 'done';
      for (let i = this.firstSlot[node], k = 0; i < this.firstSlot[node + 1]; ++i, ++k) {
        const [, slotKind, slotSign] = SLOTS[this.slots[i]] ?? ['', 'none', ''];
        const shown = isWhole && nodeKind !== 'none' && slotKind !== 'fail' ? nodeKind : slotKind;
        const left = x + (k % this.columns) * scale, top = y + Math.floor(k / this.columns) * scale;
        rects[shown].push(left, top, scale - gap, scale - gap);
        if (scale >= 12) {
          const rank = scale >= 22 ? this.rankAt(node, k) : null;
          const sign = (isWhole && slotKind !== 'fail' && nodeSign) || slotSign;
          words.push([sign || (rank === null ? '' : rank), left + (scale - gap) / 2, top + (scale - gap) / 2]);
        }
      }
    }
    context.strokeStyle = colours.none;
    context.lineWidth = 1;
    for (let node = this.names.length; node < this.names.length + this.outlines; ++node) {
      context.strokeRect(offsetX + this.x[node] * scale + 0.5, offsetY + this.y[node] * scale + 0.5, this.columns * scale - gap - 1, this.rows * scale - gap - 1);
    }
    for (const kind of WORST) {
      context.fillStyle = colours[kind];
      const list = rects[kind];
      for (let i = 0; i < list.length; i += 4) context.fillRect(list[i], list[i + 1], list[i + 2], list[i + 3]);
    }
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.fillStyle = paper;
    context.font = `600 ${Math.max(8, Math.min(13, scale * 0.42))}px system-ui, sans-serif`;
    for (const [word, x, y] of words) if (word !== '') context.fillText(word, x, y);
    this.#mark(context, troubles, colours, paper, ink);
    context.textAlign = 'left';
    context.fillStyle = css.getPropertyValue('--ink-soft');
    context.font = '600 12px system-ui, sans-serif';
    if (HEAD * scale >= 11) {
      for (const group of this.groups) context.fillText(group.label, offsetX + group.x * scale, offsetY + (group.y + 0.55) * scale);
    }
  }

  #mark(context, troubles, colours, paper, ink) {
    const {scale} = this;
    const wide = this.columns * scale, high = this.rows * scale;
    if (scale < NEAR && troubles.length <= MOST_MARKS) {
      for (const [x, y, kind] of troubles) {  // a diamond: the node is lost or a rank failed; a disc: it is disconnected
        const cx = x + wide / 2, cy = y + high / 2, r = 5;
        context.beginPath();
        if (kind === 'fail') {
          context.moveTo(cx, cy - r - 1);
          context.lineTo(cx + r + 1, cy);
          context.lineTo(cx, cy + r + 1);
          context.lineTo(cx - r - 1, cy);
          context.closePath();
        } else {
          context.arc(cx, cy, r - 1, 0, 7);
        }
        context.fillStyle = colours[kind];
        context.fill();
        context.lineWidth = 1.5;
        context.strokeStyle = paper;
        context.stroke();
      }
    }
    context.lineWidth = 2;
    const ring = (node, grow) => {
      const x = this.offsetX + this.x[node] * scale, y = this.offsetY + this.y[node] * scale;
      context.strokeRect(x - grow, y - grow, wide + 2 * grow - 1, high + 2 * grow - 1);
    };
    context.strokeStyle = ink;
    for (const node of this.hits) ring(node, 2.5);
    if (this.cursor >= 0) ring(this.cursor, 2.5);
  }

  rankAt(node, place) {
    const {ranks} = this.names[node];
    for (let i = 0; i < ranks.length; i += 2) {
      if (place < ranks[i + 1]) return ranks[i] + place;
      place -= ranks[i + 1];
    }
    return null;
  }

  // Returns the node at a point of the canvas, and the number of the slot there; each is -1 if there is none.
  at(x, y) {
    const mx = (x - this.offsetX) / this.scale, my = (y - this.offsetY) / this.scale;
    for (let node = 0; node < this.names.length; ++node) {
      const dx = mx - this.x[node], dy = my - this.y[node];
      if (dx < 0 || dy < 0 || dx >= this.columns || dy >= this.rows) continue;
      const place = Math.floor(dy) * this.columns + Math.floor(dx);
      return [node, place < this.names[node].slots ? place : -1];
    }
    return [-1, -1];
  }

  describe(node, place = -1) {
    const name = this.names[node];
    const ranks = [];
    for (let i = 0; i < name.ranks.length; i += 2) {
      const last = name.ranks[i] + name.ranks[i + 1] - 1;
      ranks.push(last === name.ranks[i] ? `${last}` : `${name.ranks[i]}–${last}`);
    }
    const lines = [`${name.node_id}: ${NODES[this.nodes[node]]?.[0] ?? '?'}`, `host ${name.host_name}`];
    if (name.label) lines.push(name.label);
    const states = {};
    for (const one of this.slots.slice(this.firstSlot[node], this.firstSlot[node + 1])) states[one] = (states[one] ?? 0) + 1;
    if (ranks.length) {
      lines.push(`${name.role === 'server' ? 'server ' : ''}ranks ${ranks.join(', ')}: ` +
        Object.entries(states).map(([key, count]) => `${count} ${SLOTS[key]?.[0] ?? key}`).join(', '));
    }
    const rank = place >= 0 ? this.rankAt(node, place) : null;
    if (rank !== null) lines.unshift(`rank ${rank}: ${SLOTS[this.slots[this.firstSlot[node] + place]]?.[0] ?? '?'}`);
    return lines.join('\n');
  }

  #open(node, place) {
    const rank = place >= 0 && this.scale >= 10 && this.names[node].role === 'worker' ? this.rankAt(node, place) : null;
    location.hash = rank === null ? path('job', this.job, 'node', this.names[node].node_id) : path('job', this.job, 'rank', rank);
  }

  #showTip(node, place, x, y) {
    this.tip.hidden = node < 0;
    if (node < 0) return;
    this.tip.textContent = this.describe(node, place);
    const right = x > this.canvas.clientWidth / 2;
    this.tip.style.left = right ? '' : `${x + 14}px`;
    this.tip.style.right = right ? `${this.canvas.clientWidth - x + 14}px` : '';
    this.tip.style.top = `${y + 12}px`;
  }

  #listen() {
    const canvas = this.canvas;
    let drag = null;
    canvas.addEventListener('pointerdown', (event) => {
      drag = {x: event.offsetX, y: event.offsetY, moved: false};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      const {offsetX: x, offsetY: y} = event;
      if (drag && (drag.moved || Math.hypot(x - drag.x, y - drag.y) > 4)) {
        this.offsetX += x - drag.x;
        this.offsetY += y - drag.y;
        drag = {x, y, moved: true};
        this.isFit = false;
        this.paint();
        return this.#showTip(-1);
      }
      this.#showTip(...this.at(x, y), x, y);
    });
    canvas.addEventListener('pointerup', (event) => {
      const [node, place] = this.at(event.offsetX, event.offsetY);
      if (drag && !drag.moved && node >= 0) this.#open(node, place);
      drag = null;
    });
    canvas.addEventListener('pointercancel', () => { drag = null; });
    canvas.addEventListener('pointerleave', () => this.#showTip(-1));
    canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && this.isFit && this.scale >= 12) return;  // the whole map is visible: let the page scroll
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.25 : 0.8, event.offsetX, event.offsetY);
    }, {passive: false});
    canvas.addEventListener('keydown', (event) => this.#onKey(event));
    canvas.addEventListener('blur', () => {
      this.cursor = -1;
      this.paint();
    });
  }

  #onKey(event) {
    const step = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1]}[event.key];
    if (event.key === '+' || event.key === '=') this.zoom(1.6);
    else if (event.key === '-') this.zoom(1 / 1.6);
    else if (event.key === '0') this.fit();
    else if (event.key === 'Enter' && this.cursor >= 0) this.#open(this.cursor, -1);
    else if (step && this.names.length) this.#move(step);
    else return;
    event.preventDefault();
  }

  // Moves the cursor to the nearest node in this direction.
  #move([dx, dy]) {
    let best = this.cursor < 0 ? 0 : this.cursor, least = Infinity;
    for (let node = 0; this.cursor >= 0 && node < this.names.length; ++node) {
      const along = (this.x[node] - this.x[this.cursor]) * dx + (this.y[node] - this.y[this.cursor]) * dy;
      const beside = Math.abs((this.x[node] - this.x[this.cursor]) * dy) + Math.abs((this.y[node] - this.y[this.cursor]) * dx);
      if (along > 0.01 && along + 3 * beside < least) {
        least = along + 3 * beside;
        best = node;
      }
    }
    this.cursor = best;
    const x = this.offsetX + this.x[best] * this.scale, y = this.offsetY + this.y[best] * this.scale;
    if (x < 0 || y < 0 || x > this.canvas.clientWidth - 20 || y > this.canvas.clientHeight - 20) this.#centre(best, this.scale);
    announce(this.describe(best).replaceAll('\n', ', '));
    this.paint();
  }

  search() {
    const word = this.input.value.trim().toLowerCase();
    this.hits = new Set();
    const shown = [];
    if (word) {
      const rank = /^(rank\s*)?\d+$/.test(word) ? Number(word.match(/\d+/)[0]) : null;
      this.names.forEach((name, node) => {
        for (let i = 0; rank !== null && i < name.ranks.length; i += 2) {
          if (rank < name.ranks[i] || rank >= name.ranks[i] + name.ranks[i + 1]) continue;
          this.hits.add(node);
          if (name.role === 'worker') shown.unshift([`rank ${rank} on ${name.host_name} (node ${name.node_id})`, path('job', this.job, 'rank', rank)]);
        }
        if (name.node_id.toLowerCase().includes(word) || name.host_name.toLowerCase().includes(word) || name.label.toLowerCase().includes(word)) {
          this.hits.add(node);
          if (shown.length < 8) shown.push([`node ${name.node_id} on ${name.host_name}`, path('job', this.job, 'node', name.node_id)]);
        }
      });
    }
    this.found.hidden = !word;
    this.found.replaceChildren(...(shown.length ? shown.slice(0, 8).map(([text, href]) => h('li', {}, h('a', {href}, text)))
      : [h('li', {class: 'soft small'}, 'Nothing has that rank, name or host.')]));
    if (word) announce(`${plural(this.hits.size, 'node')} found`);
    if (this.hits.size === 1) this.#centre([...this.hits][0]);
    this.paint();
  }

  #onSearchKey(event) {
    if (event.key === 'Escape') {
      this.input.value = '';
      this.search();
      this.fit();
    } else if (event.key === 'Enter') {
      this.found.querySelector('a')?.click();
    } else if (event.key === 'ArrowDown') {
      this.found.querySelector('a')?.focus();
      event.preventDefault();
    }
  }
}
