/** The complete numbering plans of the world. The smaller sets accept one in ten mistyped numbers. */
export { parsePhoneNumberFromString } from 'libphonenumber-js/max';
