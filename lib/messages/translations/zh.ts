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
  ownerMail: {
    subject: '您已拥有 {brand} 账户',
    heading: '您已拥有账户',
    what: '刚才有人尝试使用您的邮箱地址在 {brand} 注册。您已是我们的客户，因此没有开立新账户，您的账户也没有任何变动。',
    ifYou: '如果是您本人操作，请直接登录现有账户。如果忘记了密码，客服将为您提供帮助。',
    ifNotYou: '如果不是您本人操作，您无需采取任何措施。',
  },
  sms: {
    code: ['【{brand}】验证码：{code}，{minutes}内有效，请勿告知他人。', '【{brand}】验证码：{code}'],
    codeAlone: '验证码：{code}',
    ownerNotice: [
      '【{brand}】有人尝试使用您的信息注册。您的账户没有变动，如非本人操作，请忽略。',
      '【{brand}】有人尝试使用您的信息注册。',
    ],
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
    ownerNotice:
      '您好，这里是 {brand}。刚才有人尝试使用您的信息注册。您已拥有账户，因此没有任何变动。如果是您本人操作，请直接登录。如果不是，您无需采取任何措施。再见。',
  },
};
