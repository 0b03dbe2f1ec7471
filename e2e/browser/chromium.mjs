// A real Chromium that can reach this computer only, and what every page has to
// hold: nothing in the console, no policy broken, nothing for axe to find, no
// sideways scrolling, in both themes, wide and narrow, and with large text.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { chromium } from 'playwright-core';

const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const shots = process.env.OSFOUNDRY_SHOTS; // a folder for pictures

/** Starts Chromium (CHROMIUM names it). Hosts under .example are this computer. */
export async function startChromium(t) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || findChromium(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--font-render-hinting=none', '--ignore-certificate-errors',
      '--host-resolver-rules=MAP *.example 127.0.0.1,MAP * ~NOTFOUND,EXCLUDE 127.0.0.1,EXCLUDE localhost'],
  });
  t.after(() => browser.close());
  return browser;
}

function findChromium() {
  for (const folder of (process.env.PATH ?? '').split(path.delimiter)) {
    for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
      const file = path.join(folder, name);
      if (fs.existsSync(file)) return file;
    }
  }
  throw new Error('Chromium is not on the PATH. Set CHROMIUM.');
}

/**
 * A person's browser, with cookies of its own. Without JavaScript it cannot be
 * inspected: axe is a script. Chromium calls each refused request an error of the
 * page; `expected` takes patterns of addresses that a test wants refused.
 */
export async function person(t, browser, { javaScriptEnabled = true } = {}) {
  const context = await browser.newContext({ javaScriptEnabled, ignoreHTTPSErrors: true, reducedMotion: 'reduce', viewport: { width: 1280, height: 860 } });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const faults = [], navigations = [], refusals = new Set(), expected = [];
  page.on('console', message => {
    if (expected.some(address => address.test(message.location().url)) && /^Failed to load resource/.test(message.text())) return;
    // A refused form has status 4xx, which Chromium calls an error of the page.
    if (/^Failed to load resource: the server responded with a status of 4\d\d/.test(message.text()) && refusals.delete(message.location().url)) return;
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
  });
  page.on('pageerror', error => faults.push(String(error)));
  page.on('response', response => {
    if (response.request().isNavigationRequest() && response.status() >= 400 && response.status() < 500) refusals.add(response.url());
  });
  page.on('request', request => {
    if (!/^(127\.0\.0\.1|localhost|[a-z.]+\.example)$/.test(new URL(request.url()).hostname) && /^https?:/.test(request.url())) faults.push(`asked for ${request.url()}`);
  });
  const devtools = await context.newCDPSession(page);
  await devtools.send('Audits.enable');
  devtools.on('Audits.issueAdded', ({ issue }) => {
    if (issue.code === 'ContentSecurityPolicyIssue') faults.push(JSON.stringify(issue.details));
  });
  await devtools.send('Page.enable');
  devtools.on('Page.frameRequestedNavigation', event => navigations.push(event));
  t.after(() => context.close());
  return { context, page, devtools, faults, navigations, expected };
}

/** Holds the page that is shown to everything above, as it stands. Only the app may have scripts. */
export async function inspect(who, name, { app = false, grows = true } = {}) {
  const { page, devtools } = who;
  const before = page.viewportSize();
  for (const [width, height] of [[1280, 860], [390, 844]]) {
    for (const theme of ['light', 'dark']) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      assert.deepEqual(await violations(devtools), [], `axe: ${name}, ${width} px, ${theme}`);
      if (shots) await page.screenshot({ path: path.join(shots, `${name}-${width}-${theme}.png`), fullPage: true });
    }
  }
  await page.setViewportSize({ width: 320, height: 640 });
  assert.equal(await overflow(page), 0, `${name}: scrolls sideways at 320 px`);
  if (shots) await page.screenshot({ path: path.join(shots, `${name}-320.png`), fullPage: true });
  if (grows) { // a menu that is open has been given its place
    await page.setViewportSize({ width: 390, height: 844 });
    await largeText(page, '200%');
    assert.equal(await overflow(page), 0, `${name}: scrolls sideways with text of 200 %`);
    if (shots) await page.screenshot({ path: path.join(shots, `${name}-large-text.png`), fullPage: true });
    await largeText(page, '');
  }
  await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  assert.deepEqual(who.faults, [], `${name}: console, policy or network`);
  if (!app) assert.equal(await page.locator('script').count(), 0, `${name}: has a script`);
}

// All lengths are in rem, so this is what a person's own text size does.
const largeText = (page, size) => page.evaluate(size => { document.documentElement.style.fontSize = size; }, size);

// Layers over the page take their new place with the next frame.
const overflow = page => page.evaluate(async () => {
  for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
  return Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth);
});

async function violations(devtools) {
  await devtools.send('Runtime.evaluate', { expression: axe });
  const { result, exceptionDetails } = await devtools.send('Runtime.evaluate', {
    awaitPromise: true, returnByValue: true,
    expression: `axe.run(document, { runOnly: ${JSON.stringify(rules)} }).then(r => JSON.stringify(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target + ' ' + n.failureSummary).join('; '))))`,
  });
  assert.equal(exceptionDetails, undefined, 'axe did not run');
  return JSON.parse(result.value);
}

/** Goes on with Tab until the focus is on the element; every step shows a ring. */
export async function tabTo(page, selector) {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab');
    if (await page.evaluate(s => document.activeElement?.matches(s), selector)) {
      const ring = await page.evaluate(() => {
        const shown = e => e && getComputedStyle(e).outlineStyle !== 'none' && parseFloat(getComputedStyle(e).outlineWidth) >= 2;
        return shown(document.activeElement) || shown(document.activeElement.closest('.option, li.linked'));
      });
      assert.ok(ring, `${selector}: the focus does not show`);
      return;
    }
  }
  assert.fail(`${selector} cannot be reached with Tab`);
}

/**
 * A quicker look than inspect: wide and light, narrow and dark, and axe for one of
 * the two. Pictures are taken of all four.
 */
export async function glance(who, name, narrow) {
  const { page, devtools } = who;
  for (const [width, height, theme, examined] of [[1280, 860, 'light', !narrow], [1280, 860, 'dark', false], [390, 844, 'light', false], [390, 844, 'dark', narrow]]) {
    if (!shots && (width === 390) !== (theme === 'dark')) continue;
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    if (examined) assert.deepEqual(await violations(devtools), [], `axe: ${name}, ${width} px, ${theme}`);
    assert.equal(await overflow(page), 0, `${name}: scrolls sideways at ${width} px`);
    if (shots) await page.screenshot({ path: path.join(shots, `${name}-${width}-${theme}.png`) });
  }
  assert.deepEqual(who.faults, [], `${name}: console, policy or network`);
}
