import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { CHROMIUM, inChromium, TestBrowser } from '../../support/chromium.ts';
import { call } from '../../support/local-service.ts';

const REGISTER = '/public/v1/account/register/request';
const ACCOUNT = '/public/v1/users/{user_id}/tp4/accounts';

interface OpenApiDocument {
  servers: { url: string }[];
  paths: Record<string, { post: { requestBody: { content: Record<string, Body> } } }>;
  components: { parameters: { UserId: { example: string } } };
}
interface Body {
  examples?: Record<string, { value: object }>;
}

let service: LocalService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

async function readDocument(url = service.url): Promise<OpenApiDocument> {
  return (await fetch(`${url}/_local/openapi.json`)).json() as Promise<OpenApiDocument>;
}

function examplesOf({ paths }: OpenApiDocument, path: string): object[] {
  const { examples = {} } = paths[path]?.post.requestBody.content['application/json'] ?? {};
  return Object.values(examples).map(({ value }) => value);
}

describe('the document of the API reference', () => {
  it('names the address that was called as its server', async () => {
    for (const url of [service.url, service.url.replace('localhost', '127.0.0.1')]) {
      const { servers, paths } = await readDocument(url);
      expect(servers).toMatchObject([{ url }]);
      expect(Object.keys(paths)).toHaveLength(4);
    }
  });

  it('has all examples if the service has the demo records', async () => {
    expect(examplesOf(await readDocument(), ACCOUNT)).toHaveLength(3);
  });
});

describe.skipIf(CHROMIUM === undefined)(inChromium('the API reference in a browser'), () => {
  const PATHS = ['/register/request', '/tp5/accounts', '/tp4/accounts'];
  const browser = new TestBrowser();
  const operation = (path: string) => browser.page.locator('.opblock', { hasText: path });

  /** Unfolding takes long, so the tests share the page. */
  beforeAll(async () => {
    await browser.page.goto(service.url);
    await browser.page.locator('.opblock').first().waitFor();
    for (const path of PATHS) await operation(path).locator('.opblock-summary-control').click();
    for (const path of PATHS) await operation(path).locator('.execute').waitFor();
  });

  it('fits a phone, unfolded', async () => {
    await browser.page.setViewportSize({ width: 390, height: 900 });
    expect(await browser.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  });

  it('follows the color scheme of the system', async () => {
    const isDark = () => browser.page.evaluate('document.documentElement.classList.contains("dark-mode")');
    await browser.page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(isDark).toBe(true);
    await browser.page.emulateMedia({ colorScheme: 'light' });
    await expect.poll(isDark).toBe(false);
  });

  it('opens an account, and repeats the answer by its Idempotency-Key', async () => {
    const execute = async () => {
      const [request] = await Promise.all([
        browser.page.waitForRequest((sent) => sent.method() === 'POST'),
        operation('/tp5/accounts').locator('.execute').click(),
      ]);
      const response = await request.response();
      const account = (await response?.json()) as { login: number };
      await operation('/tp5/accounts').locator('.live-responses-table').getByText(String(account.login)).waitFor();
      return { headers: await request.allHeaders(), account, answered: await response?.allHeaders() };
    };

    const first = await execute();
    expect(first.headers).toMatchObject({ 'content-type': 'application/json' });
    for (const name of ['idempotency-key', 'authorization']) expect(first.headers).not.toHaveProperty(name);

    const key = operation('/tp5/accounts').locator('input[placeholder="Idempotency-Key"]');
    await key.fill('2f0b8c1d-94a6-4e37-b5d2-8c7e1a3f6049');
    const second = await execute();
    const third = await execute();
    expect(third.answered).toMatchObject({ 'idempotent-replayed': 'true' });
    expect(third.account).toEqual(second.account);
    expect(second.account).not.toEqual(first.account);
    expect(service.platforms.get('tp5-live-1')?.accounts()).toHaveLength(2);
  });
});

describe('the document of a service with other records', () => {
  it('has examples that work with those', async () => {
    await service.close();
    const [connection = expect.fail()] = DEMO_RECORDS.connections.filter(({ id }) => id === 'tp4-live-1');
    service = await startService({
      records: {
        forms: [{ id: 'OTHERFRM', fields: [] }],
        clients: [{ id: 'OTHER001', email: 'eva@example.com', name: 'Eva Novak' }],
        account_types: [],
        connections: [{ ...connection, id: 'other-tp4' }],
        local_secrets: {},
      },
    });
    const document = await readDocument();
    const userId = document.components.parameters.UserId.example;
    const [registration] = examplesOf(document, REGISTER);
    const [account] = examplesOf(document, ACCOUNT);
    expect((await call(service, REGISTER, registration)).status).toBe(204);
    expect((await call(service, ACCOUNT.replace('{user_id}', userId), account)).status).toBe(200);
    expect(service.platforms.get('other-tp4')?.accounts()).toHaveLength(1);
    // No call is known that would work there.
    expect(examplesOf(document, ACCOUNT.replace('tp4', 'tp5'))).toEqual([]);
    expect(JSON.stringify(document)).not.toMatch(/"(FORM0001|CLIENT01|tp5-live-1|tp4-live-1)"/);
  });
});
