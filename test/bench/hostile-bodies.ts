import { MAX_REGISTRATION_BYTES } from '../../lib/validators/registration.ts';
import { registrationBody } from '../support/gateway-events.ts';

/** The form that has a field of every type. */
const FIXED = JSON.stringify({ ...registrationBody(1), form_id: 'FORMFULL', k3J9xQ: undefined }).slice(1, -1);

/**
 * Registration bodies that are refused after the most work that a caller can cause: as large as possible, or within the
 * limits of the checks; each of many small values or a large one.
 */
export function hostileBodies(): { what: string; text: string }[] {
  const parts = partsFor(MAX_REGISTRATION_BYTES - FIXED.length - 100);
  const members = { ...ofManySmallThings(parts), ...ofOneLargeThing(parts), ...withinTheBounds(parts) };
  return [
    ...Object.entries(members).map(([what, more]) => ({ what, text: `{${FIXED},${more}}` })),
    { what: 'a body that ends too soon', text: `{${FIXED},"x":[${parts.many('0')}` },
    { what: 'a text for a body', text: `"${'x'.repeat(parts.room)}"` },
  ];
}

type Parts = ReturnType<typeof partsFor>;

/** The building blocks of members with this many bytes next to the fixed fields. */
function partsFor(room: number) {
  /** As many as fit, or at most this many. */
  const many = (one: string | ((index: number) => string), most = Number.POSITIVE_INFINITY) => {
    const parts: string[] = [];
    for (let index = 0, left = room; index < most; index += 1) {
      const part = typeof one === 'string' ? one : one(index);
      left -= part.length + 1;
      if (left < 0) break;
      parts.push(part);
    }
    return parts.join(',');
  };
  const lists = (one: string, count: number) => many((index) => `"x${index}":[${many(one, 10_000)}]`, count);
  const nested = (open: string, close: string) => {
    const depth = Math.floor(room / (open.length + close.length));
    return `${open.repeat(depth)}1${close.repeat(depth)}`;
  };
  const objectOf = (members: number) => `{${many((index) => `"k${index}":0`, members)}}`;
  return { room, many, lists, nested, objectOf };
}

/** The largest bodies that are read, of many small values. */
function ofManySmallThings({ many, nested }: Parts): Record<string, string> {
  return {
    'a list of zeros': `"x":[${many('0')}]`,
    'a list of zeros in a field of the form': `"field_checkbox":[${many('0')}]`,
    'a list of empty objects': `"x":[${many('{}')}]`,
    'a list of empty lists': `"field_participants":[${many('[]')}]`,
    'a list of empty texts': `"field_multiselect":[${many('""')}]`,
    'unknown members': many((index) => `"k${index}":0`),
    'unknown members with numbers for names': many((index) => `"${index * 7}":0`),
    'unknown members of a field of the form': `"field_location":{${many((index) => `"k${index}":0`)}}`,
    'one member again and again': many('"x":0'),
    'lists within lists': `"x":${nested('[', ']')}`,
    'objects within objects': `"x":${nested('{"a":', '}')}`,
    'objects of the deepest kind': `"x":[${many(`${'{"a":'.repeat(18)}0${'}'.repeat(18)}`)}]`,
    '__proto__ at the end': `"x":[${many('0', 9_000)}],"__proto__":0`,
  };
}

/** The largest bodies that are read, with one large value. */
function ofOneLargeThing({ room }: Parts): Record<string, string> {
  return {
    'a long name': `"name":"${'n'.repeat(room)}"`,
    'a long name beyond Latin': `"name":"${'名'.repeat(room / 3)}"`,
    'a long name of emoji': `"name":"${'👍'.repeat(room / 4)}"`,
    'a long email address': `"email":"${'a.'.repeat(room / 2 - 10)}@example.com"`,
    'a long password': `"password":"${'é'.repeat(room / 2)}"`,
    'a long type': `"type":"${': '.repeat(room / 2)}"`,
    'a long channel': `"otp_type":"${': '.repeat(room / 2)}"`,
    'a long language': `"language":"${'en-'.repeat(room / 3)}"`,
    'a long dial code': `"phone":{"country_code":"${'1'.repeat(room)}","number":"1"}`,
    'a long number': `"field_number_string":"${'1'.repeat(room)}x"`,
    'a number of many digits': `"field_number":${'1'.repeat(room)}`,
    'a text of escapes': `"field_text":"${'\\u0000'.repeat(room / 6)}"`,
    'a text of half characters': `"field_text":"${'\\ud800'.repeat(room / 6)}"`,
    'a member with a long name': `"${'k'.repeat(room)}":0`,
    'a document that is no base64': `"field_document":[{"id":"1","name":"1","doc":"${'A'.repeat(room - 60)}!"}]`,
    'a document that is too large': `"field_document":[{"id":"1","name":"1","doc":"${'A'.repeat(4 * Math.floor((room - 60) / 4))}"}]`,
    'a date that is long': `"field_date":"${'2'.repeat(room)}"`,
  };
}

/** Within the limits of the checks. */
function withinTheBounds({ lists, many, objectOf }: Parts): Record<string, string> {
  const free = `"field_dynamicSelect":[${many('0', 9_990)}]`;
  return {
    'zeros within the bounds': lists('0', 9),
    'empty objects within the bounds': lists('{}', 9),
    'objects with one member within the bounds': lists('{"a":0}', 5),
    'empty texts within the bounds': lists('""', 9),
    'unknown members within the bounds': many((index) => `"k${index}":0`, 9_900),
    'objects of unknown members within the bounds': many((index) => `"x${index}":${objectOf(9_000)}`, 9),
    'long texts within the bounds': `"field_multiselect":[${many(`"${'é '.repeat(3_000)}"`, 500)}]`,
    'short texts within the bounds': lists('"e\u0301"', 1).replace('"x0"', '"field_checkbox"'),
    'people within the bounds': `"field_leads":[${many(`{"id":1,"name":2,"more":[${many('0', 90)}]}`, 100)}]`,
    'a free value within the bounds': `${free},"x":0`,
    'all free values within the bounds': `${free},"field_leads":[${many('{"a":[0,0,0,0]}', 100)}],"field_date":"no"`,
  };
}
