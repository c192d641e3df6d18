// Before anything is drawn: the theme that was chosen here, or else what the system has.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem('theme'); } catch { /* storage is off */ }
  if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.theme = chosen;
})();
