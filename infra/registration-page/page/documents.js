// SPDX-License-Identifier: 0BSD
import { acceptedTypes, fieldPointer, isDocument, isPicture, megabytes } from './check.js';

/** @import { FieldError, Form } from './types.ts' */
/** @import { ChosenFile, Values } from './check.js' */
/** @typedef {{ field: string; index: number; chosen: ChosenFile; limit: number }} Upload */

/** The longer sides of pictures that are made smaller, in pixels: at the shortest a document can still be read. */
const LONGEST_SIDE = 3_200;
const SIDES = [2_600, 2_000, 1_600, 1_200];
const JPEG_QUALITY = 0.85;

/**
 * The documents of a request, as base64. Pictures are made smaller until all documents fit.
 *
 * @param {Form} form @param {Values} values @param {(share: number) => void} onProgress the share that is encoded
 * @returns {Promise<{ documents: Values; errors: FieldError[] }>}
 */
export async function encodeDocuments(form, values, onProgress) {
  /** @type {FieldError[]} */
  const errors = [];
  const uploads = limitUploads(form, values);
  /** @type {Record<string, { id: string; name: string; doc: string }[]>} */
  const documents = Object.fromEntries(uploads.map(({ field }) => [field, []]));
  for (const [done, { field, index, chosen, limit }] of uploads.entries()) {
    onProgress(done / uploads.length);
    try {
      const file = await fitFile(chosen, limit, acceptedTypes(form.uiSchema[field]));
      const bounds = `≤ ${megabytes(limit)}`;
      if (file === undefined) errors.push({ pointer: fieldPointer(field, index, 'doc'), rule: 'file_size', bounds });
      else documents[field]?.push({ id: String(index + 1), name: file.name, doc: await base64(file) });
    } catch {
      // The file was moved or changed after it was chosen.
      errors.push({ pointer: fieldPointer(field, index, 'doc'), rule: 'format' });
    }
  }
  return { documents, errors };
}

/** The files of all fields. Pictures share what the others leave, and small ones leave more. @param {Form} form @param {Values} values */
function limitUploads(form, values) {
  const { maxDocumentBytes, maxDocumentsBytes } = form.uiSchema['ui:options'];
  const uploads = Object.keys(values)
    .filter((field) => isDocument(form.properties[field]))
    .flatMap((field) => {
      const files = /** @type {ChosenFile[]} */ (values[field] ?? []);
      return files.map((chosen, index) => ({ field, index, chosen, limit: maxDocumentBytes }));
    });
  const [pictures, others] = [true, false].map((one) => uploads.filter(({ chosen }) => isPicture(chosen.type) === one));
  let room = (others ?? []).reduce((left, { chosen }) => left - chosen.bytes, maxDocumentsBytes);
  let waiting = pictures?.length ?? 0;
  for (const upload of (pictures ?? []).sort((one, other) => one.chosen.bytes - other.chosen.bytes)) {
    upload.limit = Math.min(maxDocumentBytes, Math.floor(room / waiting));
    room -= Math.min(upload.chosen.bytes, upload.limit);
    waiting -= 1;
  }
  return uploads;
}

/** The file, or a smaller picture; undefined: it cannot be made so small. @param {ChosenFile} chosen @param {number} limit in bytes @param {string[]} accept */
async function fitFile({ file, type, bytes }, limit, accept) {
  if (file === undefined || bytes <= limit) return file;
  const isJpegAccepted = accept.length === 0 || accept.some((one) => one === 'image/jpeg' || one === 'image/*');
  // A browser that does not know the format cannot read the picture.
  const picture = await createImageBitmap(file).catch(() => undefined);
  if (picture === undefined) return undefined;
  const longer = Math.max(picture.width, picture.height);
  for (const side of [Math.min(longer, LONGEST_SIDE), ...SIDES.filter((shorter) => shorter < longer)]) {
    const smaller = await scalePicture(picture, side / longer, isJpegAccepted ? 'image/jpeg' : type);
    if (smaller === null || smaller.size > limit) continue;
    const name = file.name.replace(/\.\w+$/, `.${smaller.type.replace('image/', '').replace('jpeg', 'jpg')}`);
    return new File([smaller], name, { type: smaller.type });
  }
  return undefined;
}

/** @param {ImageBitmap} picture @param {number} scale @param {string} type @returns {Promise<Blob | null>} */
function scalePicture(picture, scale, type) {
  const [width, height] = [picture.width, picture.height].map((pixels) => Math.round(pixels * scale));
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d');
  // JPEG has no transparency.
  Object.assign(context ?? {}, { fillStyle: '#fff' });
  context?.fillRect(0, 0, canvas.width, canvas.height);
  context?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, type, JPEG_QUALITY));
}

/** @param {Blob} file @returns {Promise<string>} */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
