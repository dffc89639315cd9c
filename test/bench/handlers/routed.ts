import Fastify from 'fastify';

/**
 * Both routes with a router and a schema library, called as the adapters for Lambda do: Fastify routes the request, parses
 * the body, checks it with Ajv against the fixed fields, and writes an answer. It does nothing else.
 */

const app = Fastify();
const text = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength });
const registration = {
  type: 'object',
  required: ['email', 'type', 'name', 'password', 'repeat_password', 'form_id'],
  properties: {
    email: { ...text(254), pattern: '^[^@]+@[^@]+$' },
    type: { enum: ['trader', 'partner'] },
    name: text(128),
    otp_type: { enum: ['email', 'sms', 'call', 'whatsapp'] },
    phone: { type: 'object', properties: { country_code: text(8), number: text(32) } },
    password: text(128),
    repeat_password: text(128),
    form_id: text(8),
    referrer_id: text(8),
    language: text(35),
  },
};
const account = {
  type: 'object',
  required: ['connection_id', 'group', 'leverage'],
  properties: {
    connection_id: text(64),
    group: text(64),
    leverage: { type: 'integer', minimum: 1 },
    account_type_id: text(64),
    login: { type: 'integer', minimum: 1 },
    master_password: text(32),
    investor_password: text(32),
    enable_readonly: { type: 'boolean' },
    send_email: { type: 'boolean' },
  },
};
const opened = {
  type: 'object',
  properties: { login: { type: 'integer' }, master_password: text(32), investor_password: text(32) },
};
app.post('/public/v1/account/register/request', { schema: { body: registration } }, async (_, reply) => {
  reply.code(204);
});
const answer = { login: 500_001, master_password: 'Ma5ter#word1', investor_password: 'Inve5tor#wd1' };
app.post(
  '/public/v1/users/:user_id/tp5/accounts',
  { schema: { body: account, response: { 200: opened } } },
  async () => answer,
);

interface Event {
  rawPath: string;
  headers: Record<string, string>;
  body: string;
}

export async function handler({ rawPath, headers, body }: Event): Promise<{ statusCode: number; body: string }> {
  const { statusCode, payload } = await app.inject({ method: 'POST', url: rawPath, headers, payload: body });
  return { statusCode, body: payload };
}
