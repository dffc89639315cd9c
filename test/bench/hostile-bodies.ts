import { MAX_REGISTRATION_BYTES } from '../../lib/validators/registration.ts';
import { registrationBody } from './events.ts';

export interface HostileBody {
  what: string;
  text: string;
}

/** The form that has a field of every type. */
const FIXED = JSON.stringify({ ...registrationBody(1), form_id: 'FORMFULL', k3J9xQ: undefined }).slice(1, -1);

/**
 * Registration bodies that are refused after the most work that a caller can cause: as large as possible, or within the
 * limits of the checks; each of many small values or a large one.
 */
export function hostileBodies(mostBytes = MAX_REGISTRATION_BYTES): HostileBody[] {
  const parts = partsFor(mostBytes - FIXED.length - 100);
  return [...ofManySmallThings(parts), ...ofOneLargeThing(parts), ...withinTheBounds(parts)];
}

type Parts = ReturnType<typeof partsFor>;

/** The building blocks of bodies with this many bytes next to the fixed fields. */
function partsFor(room: number) {
  const body = (more: string) => `{${FIXED},${more}}`;
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
  return { room, body, many, lists, nested, objectOf };
}

/** As large as is read at all, of many small things. */
function ofManySmallThings({ body, many, nested }: Parts): HostileBody[] {
  return [
    { what: 'a list of zeros', text: body(`"x":[${many('0')}]`) },
    { what: 'a list of zeros in a field of the form', text: body(`"field_checkbox":[${many('0')}]`) },
    { what: 'a list of empty objects', text: body(`"x":[${many('{}')}]`) },
    { what: 'a list of empty lists', text: body(`"field_participants":[${many('[]')}]`) },
    { what: 'a list of empty texts', text: body(`"field_multiselect":[${many('""')}]`) },
    { what: 'unknown members', text: body(many((index) => `"k${index}":0`)) },
    { what: 'unknown members with numbers for names', text: body(many((index) => `"${index * 7}":0`)) },
    {
      what: 'unknown members of a field of the form',
      text: body(`"field_location":{${many((index) => `"k${index}":0`)}}`),
    },
    { what: 'one member again and again', text: body(many('"x":0')) },
    { what: 'lists within lists', text: body(`"x":${nested('[', ']')}`) },
    { what: 'objects within objects', text: body(`"x":${nested('{"a":', '}')}`) },
    { what: 'objects of the deepest kind', text: body(`"x":[${many(`${'{"a":'.repeat(18)}0${'}'.repeat(18)}`)}]`) },
    { what: '__proto__ at the end', text: body(`"x":[${many('0', 9_000)}],"__proto__":0`) },
    { what: 'a body that ends too soon', text: `{${FIXED},"x":[${many('0')}` },
  ];
}

/** As large as is read at all, by one large thing. */
function ofOneLargeThing({ body, room }: Parts): HostileBody[] {
  return [
    { what: 'a long name', text: body(`"name":"${'n'.repeat(room)}"`) },
    { what: 'a long name beyond Latin', text: body(`"name":"${'名'.repeat(room / 3)}"`) },
    { what: 'a long name of emoji', text: body(`"name":"${'👍'.repeat(room / 4)}"`) },
    { what: 'a long email address', text: body(`"email":"${'a.'.repeat(room / 2 - 10)}@example.com"`) },
    { what: 'a long password', text: body(`"password":"${'é'.repeat(room / 2)}"`) },
    { what: 'a long type', text: body(`"type":"${': '.repeat(room / 2)}"`) },
    { what: 'a long channel', text: body(`"otp_type":"${': '.repeat(room / 2)}"`) },
    { what: 'a long language', text: body(`"language":"${'en-'.repeat(room / 3)}"`) },
    { what: 'a long dial code', text: body(`"phone":{"country_code":"${'1'.repeat(room)}","number":"1"}`) },
    { what: 'a long number', text: body(`"field_number_string":"${'1'.repeat(room)}x"`) },
    { what: 'a number of many digits', text: body(`"field_number":${'1'.repeat(room)}`) },
    { what: 'a text of escapes', text: body(`"field_text":"${'\\u0000'.repeat(room / 6)}"`) },
    { what: 'a text of half characters', text: body(`"field_text":"${'\\ud800'.repeat(room / 6)}"`) },
    { what: 'a member with a long name', text: body(`"${'k'.repeat(room)}":0`) },
    {
      what: 'a document that is no base64',
      text: body(`"field_document":[{"id":"1","name":"1","doc":"${'A'.repeat(room - 60)}!"}]`),
    },
    {
      what: 'a document that is too large',
      text: body(`"field_document":[{"id":"1","name":"1","doc":"${'A'.repeat(4 * Math.floor((room - 60) / 4))}"}]`),
    },
    { what: 'a date that is long', text: body(`"field_date":"${'2'.repeat(room)}"`) },
    { what: 'a text for a body', text: `"${'x'.repeat(room)}"` },
  ];
}

/** Within the limits of the checks. */
function withinTheBounds({ body, lists, many, objectOf }: Parts): HostileBody[] {
  return [
    { what: 'zeros within the bounds', text: body(lists('0', 9)) },
    { what: 'empty objects within the bounds', text: body(lists('{}', 9)) },
    { what: 'objects with one member within the bounds', text: body(lists('{"a":0}', 5)) },
    { what: 'empty texts within the bounds', text: body(lists('""', 9)) },
    { what: 'unknown members within the bounds', text: body(many((index) => `"k${index}":0`, 9_900)) },
    {
      what: 'objects of unknown members within the bounds',
      text: body(many((index) => `"x${index}":${objectOf(9_000)}`, 9)),
    },
    {
      what: 'people within the bounds',
      text: body(`"field_leads":[${many(`{"id":1,"name":2,"more":[${many('0', 90)}]}`, 100)}]`),
    },
    { what: 'a free value within the bounds', text: body(`"field_dynamicSelect":[${many('0', 9_990)}],"x":0`) },
    {
      what: 'all free values within the bounds',
      text: body(
        `"field_dynamicSelect":[${many('0', 9_990)}],"field_leads":[${many('{"a":[0,0,0,0]}', 100)}],"field_date":"no"`,
      ),
    },
  ];
}
