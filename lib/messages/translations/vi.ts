import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'vi',
  minutes: '{n} phút',
  codeMail: {
    subject: 'Mã xác minh {brand} của quý khách',
    heading: 'Xác nhận đăng ký',
    intro: 'Vui lòng nhập mã sau để hoàn tất đăng ký tại {brand}:',
    expiry: 'Mã có hiệu lực trong {minutes} và chỉ dùng được một lần.',
    secrecy:
      'Vui lòng không chia sẻ mã với bất kỳ ai. Nhân viên của chúng tôi không bao giờ yêu cầu quý khách cung cấp mã này.',
    notYouHeading: 'Không phải quý khách?',
    notYou:
      'Nếu quý khách không yêu cầu mã này, vui lòng bỏ qua thư. Không có mã, không ai có thể hoàn tất đăng ký bằng địa chỉ của quý khách.',
  },
  sms: {
    code: [
      'Mã {brand}: {code}, hiệu lực {minutes}. Không chia sẻ với bất kỳ ai.',
      'Mã {brand}: {code} ({minutes}). Không chia sẻ với ai.',
      'Mã {brand}: {code}',
    ],
    codeAlone: 'Mã: {code}',
  },
  account: {
    subject: '{brand}: tài khoản giao dịch {login} của quý khách',
    heading: 'Tài khoản giao dịch đã được mở',
    demoHeading: 'Tài khoản demo đã được mở',
    intro: 'Chúng tôi đã mở một tài khoản giao dịch mới cho quý khách tại {brand}. Thông tin tài khoản:',
    demoIntro: 'Chúng tôi đã mở một tài khoản demo mới cho quý khách tại {brand}. Thông tin tài khoản:',
    login: 'Số tài khoản',
    version: 'Phiên bản nền tảng',
    server: 'Máy chủ',
    group: 'Nhóm',
    leverage: 'Đòn bẩy',
    readonly: 'Hiện không thể giao dịch trên tài khoản này; quý khách chỉ có thể xem.',
    passwords:
      'Để bảo mật, chúng tôi không bao giờ gửi mật khẩu qua email. Bạn có thể xem mật khẩu trong khu vực khách hàng nơi tài khoản được mở.',
    notYou: 'Quý khách không yêu cầu mở tài khoản này? Vui lòng liên hệ ngay với chúng tôi.',
    popUp: 'Số tài khoản mới của quý khách là {login}.',
  },
  footer: {
    support: 'Quý khách cần hỗ trợ? Vui lòng liên hệ: {email}',
    automatic: 'Đây là thư tự động từ {brand}.',
  },
  voice: 'JOANNA',
};
