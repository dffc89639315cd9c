/** The numbering plans of the world, complete: the smaller sets take one in ten mistyped numbers for valid. */
export { parsePhoneNumberFromString } from 'libphonenumber-js/max';
