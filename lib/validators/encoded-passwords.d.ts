/** A file of the package that it does not declare: its list, front-coded. */
declare module 'fxa-common-password-list/src/encoded-passwords.js' {
  const encodedPasswords: string;
  export default encodedPasswords;
}
