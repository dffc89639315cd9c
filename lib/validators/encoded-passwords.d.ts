/** A file of the package that the package does not declare: its list of passwords, front-coded. */
declare module 'fxa-common-password-list/src/encoded-passwords.js' {
  const encodedPasswords: string;
  export default encodedPasswords;
}
