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

  // Charts of the last ten minutes: what the server remembers, and from then on a point each second.
  const kept = 600; // seconds
  const series = new Map();
  const charts = new Map();
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const kinds = {
    sale: [['stock', '--c1'], ['sold', '--c2'], ['held', '--c3'], ['confirmed', '--c4']],
    ops: [['commands a second', '--c1']],
    memory: [['data', '--c1'], ['resident', '--c3']],
  };
  const short = (n) => n >= 1e9 ? +(n / 1e9).toFixed(1) + 'G' : n >= 1e6 ? +(n / 1e6).toFixed(1) + 'M' : n >= 1e3 ? +(n / 1e3).toFixed(1) + 'k' : String(+n.toFixed(1));
  function makeChart(e) {
    const kind = e.dataset.kind;
    const axis = { stroke: style('--dim'), grid: { stroke: style('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
    return new uPlot({
      width: e.clientWidth, height: e.clientHeight, legend: { show: false }, cursor: { show: false }, padding: [8, 22, 0, 0],
      scales: { y: { range: (u, min, max) => [0, max > 0 ? max * 1.08 : 1] } },
      axes: [
        { ...axis, grid: { show: false }, size: 22, space: 60, incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600], values: (u, list) => list.map((v) => { const d = new Date(v * 1000); return pad(d.getHours()) + ':' + pad(d.getMinutes()) + ':' + pad(d.getSeconds()); }) },
        { ...axis, size: 44, values: (u, list) => list.map(short) },
      ],
      series: [{}, ...kinds[kind].map(([label, color], i) => ({
        label, stroke: style(color), width: 2, points: { show: (u) => u.data[0].length < 2 }, // one makes no line
        fill: kind === 'sale' || i ? undefined : style(color + '-soft'), paths: uPlot.paths.linear(),
      }))],
    }, series.get(e.dataset.chart), e);
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
      else chart.setData(data);
      // How far back the line goes; nobody else can read it off a canvas.
      e.dataset.seconds = Math.round(data[0].at(-1) - data[0][0]);
    }
  }
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
  addEventListener('resize', () => { for (const [e, chart] of charts) chart.setSize({ width: e.clientWidth, height: e.clientHeight }); });

  // Whether the page is live.
  const pulse = document.getElementById('pulse');
  const live = (yes) => { if (pulse) { put(pulse, yes ? 'live' : 'not live'); pulse.classList.toggle('off', !yes); } };
  addEventListener('htmx:sse:after:message', () => { live(true); tick(); watchForm(); }, true);
  addEventListener('htmx:sse:after:connection', () => live(true), true);
  addEventListener('htmx:sse:error', (event) => {
    live(false);
    if (event.detail && event.detail.status === 403) location.reload(); // the session has ended
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
    if (typing || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const page = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
    const search = document.querySelector('[data-search]');
    if (page) page.click();
    else if (event.key === '/' && search) search.focus();
    else if (event.key === 'j') step(1);
    else if (event.key === 'k') step(-1);
    else if (event.key === 't') switchTheme();
    else if (event.key === '?') help.showModal();
    else return;
    event.preventDefault();
  });

  tick();
  watchForm();
  setInterval(tick, 200);
})();
