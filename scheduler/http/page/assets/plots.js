// Small plots, drawn by hand.
import {age, h, svg} from './dom.js';

// Draws a line over time for each of `series`: [{name, kind, points: [[ms, value], …]}]. A legend shows the last value of each.
export function linePlot(label, series, format = (value) => value.toLocaleString('en')) {
  const all = series.flatMap((one) => one.points);
  if (all.length < 2) return h('p', {class: 'soft small'}, 'Gathering data …');
  const from = Math.min(...all.map(([at]) => at)), to = Math.max(...all.map(([at]) => at));
  const low = Math.min(...all.map(([, value]) => value)), high = Math.max(...all.map(([, value]) => value));
  const x = (at) => 2 + (296 * (at - from)) / Math.max(1, to - from);
  const y = (value) => 70 - (60 * (value - low)) / Math.max(1e-9, high - low);
  return h('div', {},
    h('div', {class: 'small soft dots'}, series.filter((one) => one.points.length).map((one) => h('span', {},
      h('span', {class: `key k-${one.kind}`, 'aria-hidden': 'true'}), `${one.name} ${format(one.points[one.points.length - 1][1])}`)),
      h('span', {}, `over ${age(to - from)}`)),
    svg('svg', {class: 'plot', viewBox: '0 0 300 80', preserveAspectRatio: 'none', role: 'img', 'aria-label': label},
      svg('line', {x1: 0, x2: 300, y1: 74, y2: 74, stroke: 'var(--line)', 'vector-effect': 'non-scaling-stroke'}),
      ...series.filter((one) => one.points.length).map((one, i) => svg('polyline', {
        points: one.points.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' '), fill: 'none',
        stroke: `var(--${one.kind})`, 'stroke-width': 2, 'stroke-dasharray': i ? '5 3' : 'none', 'vector-effect': 'non-scaling-stroke'}))));
}

// Draws a bar for each of `bars`, such as the steps of ranks: [[label, value, kind], …].
export function barPlot(label, bars, format = (value) => value.toLocaleString('en')) {
  const high = Math.max(1e-9, ...bars.map(([, value]) => value));
  const wide = 300 / bars.length;
  return svg('svg', {class: 'plot', viewBox: '0 0 300 80', preserveAspectRatio: 'none', role: 'img', 'aria-label': label},
    svg('line', {x1: 0, x2: 300, y1: 76, y2: 76, stroke: 'var(--line)', 'vector-effect': 'non-scaling-stroke'}),
    ...bars.map(([name, value, kind], i) => {
      const tall = Math.max(1.5, (70 * value) / high);
      const bar = svg('rect', {x: i * wide + wide * 0.08, width: wide * 0.84, y: 76 - tall, height: tall, fill: `var(--${kind})`});
      bar.append(svg('title', {}, `${name}: ${format(value)}`));
      return bar;
    }));
}
