import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'id',
  minutes: '{n} menit',
  codeMail: {
    subject: 'Kode verifikasi {brand} Anda',
    heading: 'Konfirmasikan pendaftaran Anda',
    intro: 'Masukkan kode ini untuk menyelesaikan pendaftaran Anda di {brand}:',
    expiry: 'Kode ini berlaku selama {minutes} dan hanya dapat digunakan satu kali.',
    secrecy: 'Jangan berikan kode ini kepada siapa pun. Staf kami tidak akan pernah memintanya.',
    notYouHeading: 'Bukan Anda?',
    notYou:
      'Jika Anda tidak meminta kode ini, abaikan saja email ini. Tanpa kode tersebut, tidak seorang pun dapat menyelesaikan pendaftaran dengan alamat Anda.',
  },
  sms: {
    code: [
      '{code} adalah kode verifikasi {brand} Anda. Berlaku {minutes}. Jangan berikan kepada siapa pun.',
      'Kode {brand}: {code}',
    ],
    codeAlone: 'Kode: {code}',
  },
  account: {
    subject: '{brand}: akun trading {login} Anda',
    heading: 'Akun trading Anda telah dibuka',
    demoHeading: 'Akun demo Anda telah dibuka',
    intro: 'Kami telah membuka akun trading baru untuk Anda di {brand}. Berikut rinciannya:',
    demoIntro: 'Kami telah membuka akun demo baru untuk Anda di {brand}. Berikut rinciannya:',
    login: 'Login',
    version: 'Versi platform',
    server: 'Server',
    group: 'Grup',
    leverage: 'Leverage',
    readonly: 'Saat ini akun tersebut tidak dapat digunakan untuk trading dan hanya dapat dilihat.',
    passwords:
      'Demi keamanan Anda, kami tidak pernah mengirim kata sandi melalui email. Anda dapat melihatnya di area klien tempat akun dibuka.',
    notYou: 'Anda tidak meminta akun ini? Segera hubungi kami.',
    popUp: 'Login akun baru Anda adalah {login}.',
  },
  footer: {
    support: 'Ada pertanyaan? Tim dukungan kami siap membantu: {email}',
    automatic: 'Ini adalah pesan otomatis dari {brand}.',
  },
  voice: 'JOANNA',
};
