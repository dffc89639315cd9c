import { BODY_BOUNDS } from '../../lib/http/json-body.ts';
import {
  LARGEST_DOCUMENT,
  LARGEST_DOCUMENTS,
  MAX_DOCUMENTS,
  MAX_JSON_BYTES,
  MEGABYTE,
} from '../../lib/validators/custom-fields.ts';
import { MAX_REGISTRATION_BYTES } from '../../lib/validators/registration.ts';
import { list } from './json.ts';

/** A number of bytes, for people. */
export function bytes(count: number): string {
  return `${count.toLocaleString('en')} bytes`;
}

/** How many documents a registration may have, and how large they may be. */
export function documentSizes(): string {
  return `${MAX_DOCUMENTS} documents, of ${LARGEST_DOCUMENT / MEGABYTE} MB each and ${LARGEST_DOCUMENTS / MEGABYTE} MB together when decoded (1 MB is 1024² bytes)`;
}

/** How large a registration may be, as Markdown. */
export function registrationSizes(): string {
  const { width, members, depth } = BODY_BOUNDS;
  const count = (number: number) => number.toLocaleString('en');
  const sizes = [
    `the body: ${bytes(MAX_REGISTRATION_BYTES)}`,
    documentSizes(),
    `all other fields of the form together, as JSON: ${bytes(MAX_JSON_BYTES)}`,
    `${count(width)} members in one object or array, ${count(members)} in all, and ${depth} objects and arrays within each other`,
  ];
  return `Sizes, at most:\n\n${list(sizes)}`;
}
