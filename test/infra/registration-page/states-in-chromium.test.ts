import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { BUSY_STATES, TRANSITIONS } from '../../../infra/registration-page/page/machine.js';
import type { Act, Event, RequestEnd, State } from '../../../infra/registration-page/page/types.ts';
import { loadWords } from '../../../infra/registration-page/page/words.js';
import { runRegistrationPage } from '../../../infra/registration-page/registration-page.ts';
import { CHROMIUM, inChromium, TestBrowser } from '../../support/chromium.ts';
import { ANSWERS, RegistrationTab } from '../../support/registration-tab.ts';
import { serveFiles } from '../../support/static-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let service: LocalService;
let server: Awaited<ReturnType<typeof serveFiles>>;

beforeAll(async () => {
  service = await startService({ records: DEMO_RECORDS });
  const folder = temporaryFolder('registration-page');
  const args = ['FORM0002', '--api', service.url, '--form', 'FORM0002', '--brand', 'Example Broker'];
  expect(await runRegistrationPage(args, { print: () => {}, report: () => {}, folder })).toBe(0);
  server = await serveFiles(folder);
});
afterAll(async () => {
  server.close();
  await service.close();
});

const STATES = Object.keys(TRANSITIONS) as State[];
const EVENTS = Object.keys(TRANSITIONS.form) as Event[];
/** What a person or the browser does. */
const ACTS = EVENTS.filter((event): event is Act => !Object.hasOwn(ANSWERS, event));
const { words } = await loadWords(['en']);

describe.skipIf(CHROMIUM === undefined)(inChromium('the registration page'), () => {
  const browser = new TestBrowser({ locale: 'en-GB' });
  const newTab = () => new RegistrationTab(browser.page, `${server.url}/FORM0002/`, words);
  beforeAll(() => browser.page.clock.install());

  describe.each(STATES)('in the state %s', (state) => {
    it('does what its table says at everything that a person can do, and offers nothing else', async () => {
      const tab = newTab();
      for (const act of ACTS) {
        await tab.reach(state);
        const requests = tab.keys.length;
        const isPossible = await tab.act(act);
        if (!isPossible) expect(TRANSITIONS[state][act].to, act).toBe(state);
        if (isPossible) await tab.check(act);
        if (BUSY_STATES.includes(state)) expect(tab.keys.length, act).toBe(requests);
      }
    });

    it.runIf(BUSY_STATES.includes(state))('does what its table says at every answer', async () => {
      const tab = newTab();
      for (const [end, give] of Object.entries(ANSWERS) as [RequestEnd, (typeof ANSWERS)[RequestEnd]][]) {
        await tab.reach(state);
        await tab.answer(give(state));
        await tab.check(end);
      }
    });
  });
});
