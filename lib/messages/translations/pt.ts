import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'pt',
  whatsapp: 'pt_BR',
  minutes: '{n} minutos',
  codeMail: {
    subject: 'Seu código de verificação da {brand}',
    heading: 'Confirme seu cadastro',
    intro: 'Use este código para concluir seu cadastro na {brand}:',
    expiry: 'O código é válido por {minutes} e só pode ser usado uma vez.',
    secrecy: 'Não o compartilhe com ninguém. Nossa equipe nunca solicitará este código.',
    notYouHeading: 'Não foi você?',
    notYou:
      'Se você não solicitou este código, basta ignorar este e-mail. Sem o código, ninguém consegue concluir um cadastro com o seu endereço.',
  },
  sms: {
    code: [
      '{code} é seu token de cadastro na {brand}. Expira em {minutes}. Nunca o informe a ninguém.',
      '{brand}: token {code}',
    ],
    codeAlone: 'Token: {code}',
  },
  account: {
    subject: '{brand}: sua conta de trading {login}',
    heading: 'Sua conta de trading está aberta',
    demoHeading: 'Sua conta demo está aberta',
    intro: 'Abrimos uma nova conta de trading para você na {brand}. Estes são os dados:',
    demoIntro: 'Abrimos uma nova conta demo para você na {brand}. Estes são os dados:',
    login: 'Número da conta',
    version: 'Versão da plataforma',
    server: 'Servidor',
    group: 'Grupo',
    leverage: 'Alavancagem',
    readonly: 'No momento, não é possível operar nesta conta; ela está disponível apenas para consulta.',
    passwords:
      'Para sua segurança, nunca enviamos senhas por e-mail. Você as encontra na área do cliente em que a conta foi aberta.',
    notYou: 'Não esperava esta mensagem? Entre em contato conosco imediatamente.',
    popUp: 'O número da sua nova conta é {login}.',
  },
  footer: {
    support: 'Alguma dúvida? Nossa equipe de suporte terá prazer em ajudar: {email}',
    automatic: 'Esta é uma mensagem automática da {brand}.',
  },
  voice: 'CAMILA',
  call: {
    greeting: 'Olá. Esta é uma ligação da {brand} com o seu código de verificação.',
    code: 'Seu código é:',
    again: 'Vamos repetir. Seu código é:',
    end: 'O código é válido por {minutes}. Não o compartilhe com ninguém. Obrigado e até logo.',
  },
};
