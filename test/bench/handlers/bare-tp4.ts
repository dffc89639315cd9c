import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { BARE_PASSWORDS, bareAccountHandler } from './bare-account.ts';

/** The text protocol with Node's own sockets: one connection, one line there, a few lines back. */
export const handler = bareAccountHandler('tp4', async ({ host, port }, secret) => async (order) => {
  const { master } = JSON.parse(secret) as { master: string };
  const { master_password, investor_password } = BARE_PASSWORDS;
  // The plug-in limits how often one visitor may open an account.
  const visitor = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;
  const values =
    `MASTER=${master}|IP=${visitor}|GROUP=1|NAME=Ann Lee|PASSWORD=${master_password}|` +
    `INVESTOR=${investor_password}|EMAIL=ann@example.com|COUNTRY=United Kingdom|STATE=|CITY=|ADDRESS=|` +
    `COMMENT=${order.operation_id}|PHONE=+447400123456|PHONE_PASSWORD=|STATUS=|ZIPCODE=|ID=|` +
    `LEVERAGE=${order.leverage}|AGENT=|SEND_REPORTS=1|DEPOSIT=0`;
  const socket = connect({ host, port, noDelay: true });
  socket.write(`WNEWACCOUNT ${values}\nQUIT\n`);
  let text = '';
  for await (const chunk of socket.setEncoding('latin1')) text += String(chunk);
  return Number(/LOGIN=(\d+)/.exec(text)?.[1]);
});
