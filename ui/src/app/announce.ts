/**
 * Says a milestone to who listens to the page instead of looking at it. The page
 * shows it too; streams and counters are not announced.
 */
export function announce(text: string, urgent = false): void {
  const region = document.getElementById(urgent ? 'assertive' : 'polite');
  if (!region) return;
  region.textContent = '';
  setTimeout(() => (region.textContent = text), 50); // the same text twice is said twice
}
