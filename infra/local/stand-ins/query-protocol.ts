import { type Answer, requestId } from './stand-in.ts';

/**
 * The AWS query protocol, spoken by SES v1 and SNS: a form in, XML out.
 * A list is `Name.member.1`, a map as `Name.entry.1.Name` and `Name.entry.1.Value…`.
 */
export interface QueryDialect {
  namespace: string;
}

/** The values under `prefix.1`, `prefix.2`, …, each with an optional `.suffix`. */
export function list(form: URLSearchParams, prefix: string, suffix = ''): string[] {
  const values: string[] = [];
  for (let place = 1; ; place += 1) {
    const value = form.get(`${prefix}.${place}${suffix}`);
    if (value === null) return values;
    values.push(value);
  }
}

export function queryError({ namespace }: QueryDialect, status: number, code: string, message: string): Answer {
  return xml(
    status,
    `<ErrorResponse xmlns="${namespace}"><Error><Type>${status < 500 ? 'Sender' : 'Receiver'}</Type>` +
      `<Code>${code}</Code><Message>${escapeXml(message)}</Message></Error><RequestId>${requestId()}</RequestId></ErrorResponse>`,
  );
}

export function queryResult({ namespace }: QueryDialect, action: string, result: Record<string, string>): Answer {
  const members = Object.entries(result).map(([name, value]) => `<${name}>${escapeXml(value)}</${name}>`);
  return xml(
    200,
    `<${action}Response xmlns="${namespace}"><${action}Result>${members.join('')}</${action}Result>` +
      `<ResponseMetadata><RequestId>${requestId()}</RequestId></ResponseMetadata></${action}Response>`,
  );
}

function xml(status: number, body: string): Answer {
  return { status, headers: { 'content-type': 'text/xml' }, body };
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
