import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CHROMIUM } from '../../../infra/local/chromium.ts';
import { inChromium } from '../../support/chromium.ts';
import { OutboxPage } from '../../support/outbox-page.ts';

const outbox = new OutboxPage();

describe.skipIf(CHROMIUM === undefined)(inChromium('the outbox page'), () => {
  outbox.inBrowser();

  describe('that stays open', () => {
    beforeAll(() => outbox.load());
    beforeEach(() => outbox.clear());

    it('makes the next call fail by a switch, which goes off when the fault is used up', async () => {
      const toggle = outbox.page.getByRole('switch', { name: 'Make ses fail' });
      await toggle.check();
      await outbox.page.getByText('throttled, next call').waitFor();
      expect(await outbox.register()).toBe(502);
      await expect.poll(() => toggle.isChecked()).toBe(false);
      expect(await outbox.register()).toBe(204);
    });

    it('shows no fault that was used up before the page heard that it was set', async () => {
      const used = Promise.withResolvers<void>();
      await outbox.page.route('**/_local/faults/ses', async (route) => {
        const answer = await route.fetch();
        await used.promise;
        await route.fulfill({ response: answer });
      });
      const answered = outbox.page.waitForResponse('**/_local/faults/ses');
      const toggle = outbox.page.getByRole('switch', { name: 'Make ses fail' });
      await toggle.click({ noWaitAfter: true });
      await outbox.page.getByText('throttled, next call').waitFor();
      expect(await outbox.register()).toBe(502);
      await outbox.page.getByText('sends e-mails').waitFor();
      used.resolve();
      await (await answered).finished();
      expect(await toggle.isChecked()).toBe(false);
      expect(await outbox.page.getByText('sends e-mails').count()).toBe(1);
      await outbox.page.unroute('**/_local/faults/ses');
    });

    it('says at which step a fault strikes', async () => {
      outbox.service.faults('tp5-live-1').set({ kind: 'slow', ms: 100, times: 1, step: 'authentication' });
      await outbox.page.getByText('slow 100 ms at authentication, next call').waitFor();
      outbox.service.faults('tp5-live-1').clear();
    });

    it('shows faults that are set elsewhere', async () => {
      outbox.service.faults('s3').set({ kind: 'slow', times: 3, after: 2, ms: 250 });
      await outbox.page.getByText('slow 250 ms, after 2 calls 3 times').waitFor();
      await outbox.page.getByRole('switch', { name: 'Make s3 fail' }).uncheck();
      await outbox.page.getByText('keeps documents').waitFor();
      expect(outbox.service.faults('s3').list()).toEqual([]);
    });
  });

  describe('that was just loaded', () => {
    beforeEach(() => outbox.load());

    it('sets the kind of a fault, its times and its code, and clears all', async () => {
      await outbox.page.getByRole('button', { name: 'tp5-live-1 works' }).click();
      const form = outbox.page.getByRole('form', { name: 'Fault of tp5-live-1' });
      await form.getByLabel('Fault').selectOption('return code');
      await form.getByRole('spinbutton', { name: 'Return code' }).fill('3007');
      await form.getByLabel('Times').fill('2');
      await outbox.page.getByRole('switch', { name: 'Make tp5-live-1 fail' }).check();
      await outbox.page.getByText('return code 3007, next 2 calls').waitFor();
      expect(outbox.service.faults('tp5-live-1').list()).toEqual([{ kind: 'retcode', times: 2, after: 0, code: 3007 }]);
      expect(await outbox.openAccount()).toBe(503);
      await outbox.page.getByText('return code 3007, next call').waitFor();

      // A change of what is on counts at once.
      await form.getByLabel('Fault').selectOption('slow');
      await form.getByLabel('Milliseconds').fill('1');
      await outbox.page.keyboard.press('Tab');
      await outbox.page.getByText('slow 1 ms, next 2 calls').waitFor();
      await outbox.page.getByRole('button', { name: 'Clear all' }).click();
      await outbox.page.getByRole('button', { name: 'tp5-live-1 works' }).waitFor();
      expect(outbox.service.faults('tp5-live-1').list()).toEqual([]);
      expect(await outbox.openAccount()).toBe(200);
    });

    it('takes no fault that the service would refuse', async () => {
      await outbox.page.getByRole('button', { name: 'sns sends SMS and pop-ups' }).click();
      await outbox.page.getByRole('form', { name: 'Fault of sns' }).getByLabel('Times').fill('0');
      const toggle = outbox.page.getByRole('switch', { name: 'Make sns fail' });
      await toggle.click();
      await expect.poll(() => toggle.isChecked()).toBe(false);
      expect(outbox.service.faults('sns').list()).toEqual([]);
    });

    it.each(['0', ''])('shows the fault that stays on when its times are set to "%s"', async (times) => {
      await outbox.page.getByRole('button', { name: 'sns sends SMS and pop-ups' }).click();
      const form = outbox.page.getByRole('form', { name: 'Fault of sns' });
      const target = outbox.page.getByRole('listitem').filter({ has: form });
      await form.getByLabel('Times').fill('3');
      await outbox.page.getByRole('switch', { name: 'Make sns fail' }).check();
      await outbox.page.getByText('throttled, next 3 calls').waitFor();
      await form.getByLabel('Times').fill(times);
      await outbox.page.keyboard.press('Tab');
      await target.getByRole('alert').getByText('This was not taken').waitFor();
      expect(await form.getByLabel('Times').inputValue()).toBe('3');
      expect(await outbox.page.getByRole('switch', { name: 'Make sns fail' }).isChecked()).toBe(true);
      expect(outbox.service.faults('sns').list()).toEqual([{ kind: 'throttled', times: 3, after: 0 }]);

      // A number that can be taken is, and the words go.
      await form.getByLabel('Times').fill('5');
      await outbox.page.keyboard.press('Tab');
      await outbox.page.getByText('throttled, next 5 calls').waitFor();
      expect(await target.getByRole('alert').textContent()).toBe('');
    });
  });
});
