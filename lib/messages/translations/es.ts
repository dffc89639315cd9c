import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'es',
  minutes: '{n} minutos',
  codeMail: {
    subject: 'Su código de verificación de {brand}',
    heading: 'Confirme su registro',
    intro: 'Utilice este código para completar su registro en {brand}:',
    expiry: 'El código es válido durante {minutes} y solo puede usarse una vez.',
    secrecy: 'No lo comparta con nadie. Nuestro personal nunca se lo pedirá.',
    notYouHeading: '¿No ha sido usted?',
    notYou:
      'Si no ha solicitado este código, puede ignorar este correo. Sin el código, nadie puede completar un registro con su dirección.',
  },
  sms: {
    code: [
      '{code} es su clave de registro en {brand}. Vence en {minutes}. No la comparta con nadie.',
      '{brand}: su clave es {code}',
    ],
    codeAlone: 'Clave: {code}',
  },
  account: {
    subject: '{brand}: su cuenta de trading {login}',
    heading: 'Su cuenta de trading está abierta',
    demoHeading: 'Su cuenta demo está abierta',
    intro: 'Hemos abierto una nueva cuenta de trading para usted en {brand}. Estos son los datos:',
    demoIntro: 'Hemos abierto una nueva cuenta demo para usted en {brand}. Estos son los datos:',
    login: 'Número de cuenta',
    version: 'Versión de la plataforma',
    server: 'Servidor',
    group: 'Grupo',
    leverage: 'Apalancamiento',
    readonly: 'Por el momento no se puede operar en esta cuenta; solo está disponible para consulta.',
    passwords:
      'Por su seguridad, nunca enviamos contraseñas por correo electrónico. Las encontrará en el área de clientes en la que se abrió la cuenta.',
    notYou: '¿No esperaba este mensaje? Póngase en contacto con nosotros de inmediato.',
    popUp: 'El número de su nueva cuenta es {login}.',
  },
  footer: {
    support: '¿Tiene alguna pregunta? Nuestro equipo de soporte le ayudará con gusto: {email}',
    automatic: 'Este es un mensaje automático de {brand}.',
  },
  voice: 'LUCIA',
  call: {
    greeting: 'Hola. Le llamamos de {brand} para darle su código de verificación.',
    code: 'Su código es:',
    again: 'Se lo repetimos. Su código es:',
    end: 'El código es válido durante {minutes}. No lo comparta con nadie. Gracias y hasta luego.',
  },
};
