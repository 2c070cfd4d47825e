// Reads what a browser shows of a page: texts of tables, and coordinates of all marks, in pixels of
// the window. What is folded away is opened first. Knows nothing of what the numbers mean.
'use strict';

const each = (of, selector, read) => Array.from(of.querySelectorAll(selector), read);
const text = (element) => (element ? element.innerText ?? element.textContent : '').trim();

// A point of an SVG element's own coordinates, in the window.
function point(element, x, y) {
  const at = new DOMPoint(x, y).matrixTransform(element.getScreenCTM());
  return [at.x, at.y];
}

// Left, top, right, bottom of a shape without its stroke.
function box(shape) {
  if (!shape) return null;
  const own = shape.getBBox();
  return [...point(shape, own.x, own.y), ...point(shape, own.x + own.width, own.y + own.height)];
}

// Both ends of a line.
function line(shape) {
  const at = (name) => shape[name].baseVal.value;
  return [...point(shape, at('x1'), at('y1')), ...point(shape, at('x2'), at('y2'))];
}

const label = (shape) => ({ text: shape.textContent.trim(), box: box(shape) });
const fill = (shape) => getComputedStyle(shape).fill;

// A number with the place that it names.
function figure(element) {
  const { result, at } = element.dataset;
  const { width, height } = element.getBoundingClientRect();
  return { result: Number(result), at, text: text(element), is_seen: width > 0 && height > 0 };
}

function mark(group) {
  const shape = group.querySelector('.mark');
  return {
    words: group.getAttribute('aria-label'),
    title: group.querySelector('title').textContent,
    result: Number(group.dataset.result),
    at: group.dataset.at,
    origin: point(shape, 0, 0),
    box: box(shape),
    whisker: box(group.querySelector('.whisker')),
    fill: fill(shape),
  };
}

function cell(element) {
  const bar = element.querySelector('svg.bar');
  const bare = element.cloneNode(true);
  bare.querySelectorAll('data').forEach((one) => one.remove());
  return {
    text: text(element),
    beside: bare.textContent.trim(),
    title: element.title,
    figures: each(element, 'data', figure),
    bar: bar && each(bar, 'rect', box),
    shade: getComputedStyle(element).backgroundColor,
  };
}

function table(element) {
  return {
    caption: text(element.caption),
    heads: each(element, 'thead th', text),
    rows: each(element, 'tbody tr', (row) => Array.from(row.cells, cell)),
  };
}

function series(group) {
  return {
    lines: each(group, '.line line', line),
    marks: each(group, '[role=img]', mark),
  };
}

function chart(element) {
  const [y_title, x_title] = each(element, '.axis', text);
  const svg = element.querySelector('.plot > svg');
  const own = Array.from(svg.children);
  return {
    x_title,
    y_title,
    grid: each(svg, '.grid line', line),
    ticks: each(svg, '.grid text', label),
    guides: each(svg, '.guide', (guide) => ({
      line: line(guide.querySelector('line')),
      text: text(guide.querySelector('text')),
    })),
    series: own.filter((one) => one.querySelector('.line')).map(series),
    labels: own.filter((one) => one.matches('svg')).map((one) => ({
      text: text(one.querySelector('text')),
      fill: fill(one.querySelector('.mark')),
    })),
  };
}

// A row of the picture of throughputs.
function row(element) {
  const draw = element.querySelector('.draw > svg');
  const whisker = element.querySelector('.draw .whisker');
  const drawn = element.querySelector('.draw [role=img]');
  return {
    name: text(element.querySelector('.name')),
    variant: element.querySelector('.name').title,
    zero: draw.getBoundingClientRect().left,
    grid: each(draw, '.tick', line),
    stem: each(draw, '.stem', line),
    mark: drawn && mark(drawn),
    whisker: box(whisker),
    value: each(element, '.value data', figure),
    ends: each(element, '.ends data', figure),
    interval: text(element.querySelector('.ends')),
  };
}

function picture(element) {
  return {
    ticks: each(element, '.head .grid text', label),
    rows: each(element, '.row:not(.head)', row),
  };
}

function page(view) {
  view.querySelectorAll('details').forEach((fold) => { fold.open = true; });
  return {
    figures: each(view, 'data[data-at]', figure),
    sections: each(view, 'section', (section) => ({
      id: section.id,
      tables: each(section, 'table', table),
      pictures: each(section, '.rows', picture),
      charts: each(section, '.chart', chart),
    })),
  };
}

window.onload = () => {
  const seen = Array.from(document.querySelectorAll('iframe'), (frame) => page(frame.contentDocument));
  // Escaped so that the text is the same in HTML.
  const json = JSON.stringify(seen).replace(/[<>&\u0080-\uffff]/g, (c) =>
    '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
  document.getElementById('seen').textContent = json;
};
