// Choices that this browser keeps: theme, language, open folds. A browser that
// keeps nothing for the site forgets them with the page.

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(`osfoundry.${name}`);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`osfoundry.${name}`);
    else localStorage.setItem(`osfoundry.${name}`, value);
  } catch {
    // The choice holds until the page is closed.
  }
}
