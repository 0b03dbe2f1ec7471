// The pseudo-language: accented and longer than English. What is plain on a page
// that speaks it was not taken from the catalogue.
import assert from 'node:assert/strict';

/** Speaks the pseudo-language while the function runs. */
export async function pseudo(page, run) {
  await page.evaluate(() => localStorage.setItem('osfoundry.language', 'en-XA'));
  try {
    await run();
  } finally {
    await page.evaluate(() => localStorage.removeItem('osfoundry.language'));
  }
}

/** Finds text, and names of things without text, that is in plain letters; what people and assistants said may be. */
pseudo.check = async (page, where, said) => {
  const plain = await page.evaluate(() => {
    const theirs = 'bdi, [dir=auto], code, time, .mono, .cm-editor, noscript, script, style, option, kbd, .wordmark';
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { parentElement, nodeValue } = walker.currentNode;
      if (!parentElement.closest(theirs)) found.push(nodeValue);
    }
    for (const element of document.body.querySelectorAll('[aria-label], [placeholder], [title]')) {
      if (element.closest('time, bdi')) continue;
      for (const name of ['aria-label', 'placeholder', 'title']) if (element.hasAttribute(name)) found.push(element.getAttribute(name));
    }
    return found.map(text => text.trim());
  });
  // In a pseudo-text these letters have accents, but for names that were put into it.
  const english = plain.filter(text => /[a-z]{3}/i.test(text) && /[aceinouy]/i.test(text) && !said.some(name => text.includes(name)));
  assert.deepEqual(english, [], `${where}: text that is not in the catalogue`);
};
