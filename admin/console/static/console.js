// What the browser does by itself: clocks that run between two events, charts, the theme, and keys. All that is data comes from the
// server, as HTML.
'use strict';
(() => {
  const skew = Number(document.body.dataset.now || Date.now()) - Date.now();
  const now = () => Date.now() + skew;

  // Clocks.
  const pad = (n) => String(n).padStart(2, '0');
  function span(ms) {
    const s = Math.max(0, ms) / 1000;
    if (s < 10) return s.toFixed(1) + ' s';
    if (s < 60) return Math.floor(s) + ' s';
    if (s < 3600) return Math.floor(s / 60) + ':' + pad(Math.floor(s % 60)) + ' min';
    if (s < 86400) return Math.floor(s / 3600) + ':' + pad(Math.floor(s / 60 % 60)) + ' h';
    return Math.floor(s / 86400) + ' d';
  }
  const put = (e, text) => { if (e.textContent !== text) e.textContent = text; };
  const shown = new WeakSet(); // time lines that were moved to their end, where the latest events are
  const longest = new WeakMap(); // of a lease that is shown: what it had left when it began
  function tick() {
    const t = now();
    for (const e of document.querySelectorAll('[data-ends]')) {
      const left = Number(e.dataset.ends) - t;
      put(e, left > 0 ? span(left) : 'over');
      e.classList.toggle('soon', left < 5000);
    }
    for (const e of document.querySelectorAll('progress[data-left]')) {
      const left = Math.max(0, Number(e.dataset.left) - t);
      const whole = Math.max(longest.get(e) || 0, left);
      longest.set(e, whole);
      e.max = whole || 1;
      e.value = left;
    }
    for (const e of document.querySelectorAll('[data-latest]')) {
      if (!shown.has(e)) e.scrollLeft = e.scrollWidth;
      shown.add(e);
    }
    for (const e of document.querySelectorAll('[data-since]')) put(e, span(t - Number(e.dataset.since)));
    for (const e of document.querySelectorAll('[data-ago]')) put(e, Number(e.dataset.ago) > 0 ? span(t - Number(e.dataset.ago)) + ' ago' : 'never');
  }

  // Charts: what the server remembers, and from then on a point each second. A kind says which columns of a series are drawn, with
  // which names and colours, and the unit.
  const kept = 3600; // seconds
  const series = new Map();
  const charts = new Map();
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const kinds = {
    sale: { lines: [['stock', '--c1'], ['sold', '--c2'], ['held', '--c3'], ['confirmed', '--c4']], keys: false },
    ops: { lines: [['', '--c1']] },
    memory: { lines: [['data', '--c1'], ['process', '--c3']], unit: 'bytes' },
    cpu: { lines: [['of a core', '--c1']], unit: '%' },
    limiters: { lines: [['', '--c3']] },
    held: { lines: [['', '--c1']] },
    grants: { lines: [['granted', '--c1'], ['released', '--c2']] },
    waits: { from: 3, lines: [['median', '--c1'], ['p99', '--c3'], ['oldest', '--bad']], unit: 'ms' },
    waiting: { from: 6, lines: [['', '--c3']] },
    refused: { from: 7, lines: [['timeout', '--c3'], ['held', '--c2'], ['deadlock', '--bad']] },
    lost: { from: 10, lines: [['expired', '--c3'], ['forced', '--bad'], ['deleted', '--c4'], ['overwritten', '--c2'], ['unconfirmed', '--c1']] },
  };
  const short = (n) => n >= 1e9 ? +(n / 1e9).toFixed(1) + 'G' : n >= 1e6 ? +(n / 1e6).toFixed(1) + 'M' : n >= 1e4 ? +(n / 1e3).toFixed(1) + 'k' : String(+n.toFixed(n < 1 ? 2 : n < 10 ? 1 : 0));
  const units = {
    bytes: (n) => n >= 1 << 30 ? +(n / (1 << 30)).toFixed(1) + ' GB' : n >= 1 << 20 ? +(n / (1 << 20)).toFixed(1) + ' MB' : n ? Math.round(n / 1024) + ' KB' : '0',
    ms: (n) => n >= 60e3 ? +(n / 60e3).toFixed(1) + ' min' : n >= 1000 ? +(n / 1000).toFixed(1) + ' s' : +n.toFixed(n < 1 ? 2 : n < 10 ? 1 : 0) + ' ms',
    '%': (n) => +n.toFixed(n < 1 ? 2 : n < 10 ? 1 : 0) + ' %',
  };
  const byteSteps = Array.from({ length: 40 }, (v, i) => 2 ** i);
  let seconds = 3600; // how much of the past is shown
  let zoom = null; // two times, if a part was chosen with the mouse
  try { seconds = Number(localStorage.getItem('span')) || seconds; } catch { /* storage is off */ }
  const columns = (e) => {
    const { from = 1, lines } = kinds[e.dataset.kind];
    const data = series.get(e.dataset.chart);
    return [data[0], ...lines.map((l, i) => data[from + i])];
  };
  // The values at a place of a chart, or the latest ones.
  function writeKeys(e, u, at) {
    const { lines, unit } = kinds[e.dataset.kind];
    const last = u.data[0].length - 1;
    lines.forEach((l, i) => {
      const n = u.data[i + 1][at ?? last];
      put(e.firstChild.children[i].lastChild, n === undefined || n === null ? '–' : (units[unit] || short)(n));
    });
    const when = e.firstChild.lastChild;
    put(when, at === null || at === undefined ? '' : clock(u.data[0][at]));
  }
  const clock = (s) => { const d = new Date(s * 1000); return pad(d.getHours()) + ':' + pad(d.getMinutes()) + ':' + pad(d.getSeconds()); };
  function makeChart(e) {
    const { lines, unit, keys = true } = kinds[e.dataset.kind];
    const axis = { stroke: style('--dim'), grid: { stroke: style('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
    const box = document.createElement('div');
    box.className = 'keys';
    for (const [label, color] of lines) {
      const key = box.appendChild(document.createElement('span'));
      key.className = 'k' + color.slice(1);
      key.append(label ? label + ' ' : '', document.createElement('b'));
    }
    box.appendChild(document.createElement('time'));
    box.hidden = !keys;
    e.replaceChildren(box);
    return new uPlot({
      width: e.clientWidth, height: e.clientHeight - box.offsetHeight, legend: { show: false }, padding: [8, 24, 0, 0],
      cursor: { show: keys, y: false, drag: { x: true, y: false, setScale: false }, points: { size: 6 }, sync: { key: 'charts' } },
      scales: {
        x: { range: (u, min, max) => zoom || (e.dataset.kind === 'sale' ? [min, max] : [Math.max(max - seconds, Math.min(min, max - 60)), max]) },
        y: { range: (u, min, max) => [0, max > 0 ? max * 1.08 : 1] },
      },
      hooks: {
        setCursor: [(u) => keys && writeKeys(e, u, u.cursor.idx)],
        setSelect: [(u) => {
          if (u.select.width < 4) return;
          zoom = [u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x')];
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          draw(false);
        }],
      },
      axes: [
        { ...axis, grid: { show: false }, size: 22, space: 70, incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900], values: (u, list) => list.map(clock) },
        { ...axis, size: 52, space: 26, ...(unit === 'bytes' ? { incrs: byteSteps } : {}), values: (u, list) => list.map(units[unit] || short) },
      ],
      series: [{}, ...lines.map(([label, color], i) => ({
        label, stroke: style(color), width: 1.6, points: { show: (u) => u.data[0].length < 2 }, // one makes no line
        fill: lines.length === 1 || e.dataset.kind === 'memory' && !i ? style(color + '-soft') : undefined, paths: uPlot.paths.linear(),
      }))],
    }, columns(e), e);
  }
  function draw(anew) {
    for (const [e, chart] of charts) {
      if (!anew && e.isConnected) continue;
      chart.destroy();
      charts.delete(e);
    }
    for (const e of document.querySelectorAll('[data-chart]')) {
      const data = series.get(e.dataset.chart);
      if (!data || !e.clientWidth) continue;
      const chart = charts.get(e);
      if (!chart) charts.set(e, makeChart(e));
      else chart.setData(columns(e));
      if (!chart || chart.cursor.idx === null) writeKeys(e, charts.get(e), null);
      // How far back the line goes; nobody else can read it off a canvas.
      e.dataset.seconds = Math.round(data[0].at(-1) - data[0][0]);
    }
    for (const b of document.querySelectorAll('[data-span]')) b.setAttribute('aria-pressed', !zoom && Number(b.dataset.span) === seconds);
  }
  addEventListener('dblclick', (event) => { if (zoom && event.target.closest('.chart')) { zoom = null; draw(false); } });
  addEventListener('click', (event) => {
    const b = event.target.closest('[data-span]');
    if (!b) return;
    seconds = Number(b.dataset.span);
    zoom = null;
    try { localStorage.setItem('span', seconds); } catch { /* storage is off */ }
    draw(false);
  });
  addEventListener('past', (event) => {
    for (const [name, columns] of Object.entries(JSON.parse(event.detail.data))) series.set(name, columns);
  }, true);
  addEventListener('points', (event) => {
    for (const [name, point] of Object.entries(JSON.parse(event.detail.data))) {
      const data = series.get(name) || point.map(() => []);
      while (data[0].at(-1) >= point[0]) data.forEach((column) => column.pop()); // the server's time may stand still, or be set
      point.forEach((v, i) => data[i].push(v));
      while (data[0][0] < point[0] - kept) data.forEach((column) => column.shift());
      series.set(name, data);
    }
    draw(false);
  }, true);
  addEventListener('resize', () => { for (const [e, chart] of charts) chart.setSize({ width: e.clientWidth, height: e.clientHeight - e.firstChild.offsetHeight }); });

  // Whether the page is live. The server sends something each second or two; a server that hangs keeps its connections, and is silent.
  const pulse = document.getElementById('pulse');
  const mostSilence = 6000;
  let heard = performance.now();
  const live = (yes) => { if (yes) heard = performance.now(); if (pulse) { put(pulse, yes ? 'live' : 'not live'); pulse.classList.toggle('off', !yes); } };
  addEventListener('htmx:sse:after:message', () => { live(true); tick(); watchForm(); }, true);
  addEventListener('htmx:sse:after:connection', () => live(true), true);
  addEventListener('htmx:sse:error', (event) => {
    live(false);
    if (event.detail && event.detail.status === 403) location.reload(); // the session has ended
  }, true);
  // htmx connects again if a connection ends, and not if the first one fails.
  addEventListener('htmx:finally:request', (event) => {
    const { sourceElement: part, response } = event.detail.ctx;
    if (!part || part.id !== 'live' || part._htmx?.sse) return;
    live(false);
    if (response?.status === 403) location.reload();
    setTimeout(() => part.isConnected && htmx.ajax('GET', part.getAttribute('hx-sse:connect'), { source: part }), 1000);
  }, true);
  addEventListener('htmx:after:swap', tick, true);

  // The theme.
  const root = document.documentElement;
  function switchTheme() {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    try { localStorage.setItem('theme', root.dataset.theme); } catch { /* storage is off */ }
    draw(true);
  }
  document.getElementById('theme').addEventListener('click', switchTheme);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw(true));

  // A lock is released by force only when its name was typed.
  function watchForm() {
    const form = document.querySelector('form.force');
    if (form) form.querySelector('button').disabled = form.querySelector('[name=name]').value !== form.dataset.name;
  }
  addEventListener('input', watchForm);

  // Keys.
  const help = document.getElementById('keys');
  document.getElementById('help').addEventListener('click', () => help.showModal());
  function step(by) {
    const rows = [...document.querySelectorAll('[data-row]')];
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement);
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
    next.focus();
    next.scrollIntoView({ block: 'nearest' });
  }
  addEventListener('keydown', (event) => {
    const typing = event.target.closest && event.target.closest('input, select, textarea');
    if (typing && event.key === 'Escape') typing.blur();
    if (event.key.startsWith('Arrow') && event.target.closest('.canvas')) return; // they scroll it
    if (typing || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const page = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    const search = document.querySelector('[data-search]');
    if (page) page.click();
    else if (event.key === '/' && search) search.focus();
    else if (event.key === 'j') step(1);
    else if (event.key === 'k') step(-1);
    else if (event.key === 't') switchTheme();
    else if (event.key === 'r') { const all = [...document.querySelectorAll('[data-span]')]; (all[all.findIndex((b) => b.getAttribute('aria-pressed') === 'true') + 1] || all[0])?.click(); }
    else if (event.key === '?') help.showModal();
    else return;
    event.preventDefault();
  });

  const nav = document.querySelector('.bar nav'); // on a phone it scrolls
  const here = nav && nav.querySelector('[aria-current]');
  if (here) nav.scrollLeft = here.offsetLeft - nav.offsetLeft - (nav.clientWidth - here.offsetWidth) / 2;

  tick();
  watchForm();
  draw(false);
  setInterval(() => { if (performance.now() - heard > mostSilence) live(false); tick(); }, 200);
})();
