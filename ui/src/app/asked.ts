import { useEffect, useState } from 'react';

const pause = 250;
const most = 200; // bytes that the server takes

/** What is typed, once somebody pauses; nothing if there is no word in it. */
export function useAsked(text: string): string {
  const [asked, setAsked] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), pause);
    return () => clearTimeout(timer);
  }, [text]);
  return /[\p{L}\p{N}]/u.test(asked) && new TextEncoder().encode(asked).length <= most ? asked : '';
}
