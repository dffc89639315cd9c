import type { Translation } from './translation.ts';

export const translation = {
  language: 'en',
  whatsapp: 'en_US',
  minutes: '{n} minutes',
  codeMail: {
    subject: 'Your {brand} verification code',
    heading: 'Confirm your registration',
    intro: 'Enter this code to complete your registration with {brand}:',
    expiry: 'The code is valid for {minutes} and can be used only once.',
    secrecy: 'Please do not share it with anyone. Our staff will never ask you for it.',
    notYouHeading: 'Wasn’t this you?',
    notYou:
      'If you did not request this code, you can safely ignore this email. Without the code, nobody can complete a registration with your address.',
  },
  sms: {
    code: [
      '{code} is your {brand} verification code. It is valid for {minutes}. Never share it with anyone.',
      '{brand} code: {code}',
    ],
    codeAlone: 'Code: {code}',
  },
  account: {
    subject: '{brand}: your trading account {login}',
    heading: 'Your trading account is open',
    demoHeading: 'Your demo account is open',
    intro: 'We have opened a new trading account for you at {brand}. Here are its details:',
    demoIntro: 'We have opened a new demo account for you at {brand}. Here are its details:',
    login: 'Login',
    version: 'Platform version',
    server: 'Server',
    group: 'Group',
    leverage: 'Leverage',
    readonly: 'Trading on this account is currently disabled; you can sign in to view it.',
    passwords:
      'For your security, we never send passwords by email. You find them in the client area where the account was opened.',
    notYou: 'Were you not expecting this message? Please contact us at once.',
    popUp: 'The login of your new account is {login}.',
  },
  footer: {
    support: 'Questions? Our support team is happy to help: {email}',
    automatic: 'This is an automated message from {brand}.',
  },
  voice: 'JOANNA',
  call: {
    greeting: 'Hello. This is {brand}, calling with your verification code.',
    code: 'Your code is:',
    again: 'Once more, your code is:',
    end: 'The code is valid for {minutes}. Please do not share it with anyone. Goodbye.',
  },
} satisfies Translation;
