import { useEffect } from 'react';
import { useLocation } from 'wouter';
import { kept } from '../data/kept.ts';
import type { Layer } from './layers.ts';
import { usePlace } from './place.ts';

/** Keys of single letters can be turned off (WCAG 2.2 SC 2.1.4). */
export const lettersOff = () => kept('letters') === 'off';

/** Whether the key is text for a field, or belongs to a layer over the page. */
const taken = (target: EventTarget | null) =>
  target instanceof Element &&
  target.closest(
    'input, textarea, select, [contenteditable=true], [role=dialog], [role=alertdialog], [role=menu], [role=listbox]',
  ) !== null;

/** F6 goes round the regions of the page. */
function nextRegion(backwards: boolean) {
  const regions = [...document.querySelectorAll<HTMLElement>('[data-region]')].filter(
    region => region.offsetParent ?? region.matches('.toasts'),
  );
  const here = regions.findIndex(region => region.contains(document.activeElement));
  const next = (here + (backwards ? -1 : 1) + regions.length) % regions.length;
  regions[here === -1 && backwards ? regions.length - 1 : next]?.focus();
}

/** The keys that work on every page. */
export function useKeys(open: (layer: Layer) => void): void {
  const [, navigate] = useLocation();
  const { workspace } = usePlace();
  const home = workspace ? `/w/${workspace.id}` : '/';
  useEffect(() => {
    let goAt = 0;
    const places: Record<string, string> = {
      h: home,
      a: `${home}/approvals`,
      c: `${home}/assistants`,
      y: `${home}/activity`,
      s: '/settings',
    };
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        open('palette');
        return;
      }
      if (event.key === 'F6') {
        event.preventDefault();
        nextRegion(event.shiftKey);
        return;
      }
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        event.defaultPrevented ||
        lettersOff() ||
        taken(event.target)
      )
        return;
      const key = event.key.toLowerCase();
      const going = Date.now() - goAt < 1_500;
      goAt = 0;
      if (going && places[key]) navigate(places[key]);
      else if (key === 'g') goAt = Date.now();
      else if (event.key === '?') open('keys');
      else if (event.key === '/') open('palette');
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [home, navigate, open]);
}
