// Sets the theme before anything is drawn. The choices are kept in this browser.
(() => {
  const root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const kept = name => {
    try {
      return localStorage.getItem('osfoundry.' + name);
    } catch {
      return null; // the browser keeps nothing for this site
    }
  };
  const apply = () => {
    const theme = kept('theme');
    root.dataset.theme = theme === 'dark' || theme === 'light' ? theme : dark.matches ? 'dark' : 'light';
    root.dataset.density = kept('density') === 'compact' ? 'compact' : 'comfortable';
  };
  apply();
  dark.addEventListener('change', apply);
  addEventListener('storage', apply);
  addEventListener('osfoundry:appearance', apply);
})();
