import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'zh',
  whatsapp: 'zh_CN',
  minutes: '{n} 分钟',
  codeMail: {
    subject: '您的 {brand} 验证码',
    heading: '确认您的注册',
    intro: '请输入以下验证码，完成在 {brand} 的注册：',
    expiry: '验证码在 {minutes}内有效，且只能使用一次。',
    secrecy: '请勿向任何人透露。我们的工作人员绝不会向您索取验证码。',
    notYouHeading: '不是您本人操作？',
    notYou: '如果您没有申请此验证码，请忽略本邮件。没有验证码，任何人都无法使用您的邮箱地址完成注册。',
  },
  sms: {
    code: ['【{brand}】验证码：{code}，{minutes}内有效，请勿告知他人。', '【{brand}】验证码：{code}'],
    codeAlone: '验证码：{code}',
  },
  account: {
    subject: '{brand}：您的交易账户 {login}',
    heading: '您的交易账户已开立',
    demoHeading: '您的模拟账户已开立',
    intro: '我们已在 {brand} 为您开立新的交易账户，详情如下：',
    demoIntro: '我们已在 {brand} 为您开立新的模拟账户，详情如下：',
    login: '登录账号',
    version: '平台版本',
    server: '服务器',
    group: '组别',
    leverage: '杠杆',
    readonly: '该账户目前不能交易，仅可查看。',
    passwords: '为了您的安全，我们绝不会通过电子邮件发送密码。您可在开立账户的客户专区查看密码。',
    notYou: '没有申请此账户？请立即联系我们。',
    popUp: '您的新账户登录账号为 {login}。',
  },
  footer: {
    support: '如有疑问，请联系客服：{email}',
    automatic: '本消息由 {brand} 自动发送。',
  },
  voice: 'ZHIYU',
  call: {
    greeting: '您好，这里是 {brand}，为您播报验证码。',
    code: '您的验证码是：',
    again: '再播报一遍，您的验证码是：',
    end: '验证码{minutes}内有效，请勿告知他人。再见。',
  },
};
