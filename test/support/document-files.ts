/** The first box of a picture in the container HEIF: its main brand, a version, and all brands. */
export function heif(main: string, ...brands: string[]): Buffer {
  const box = Buffer.from(`....ftyp${main}\0\0\0\0${brands.join('')}`, 'latin1');
  box.writeUInt32BE(box.length);
  return Buffer.concat([box, Buffer.alloc(32)]);
}

/** The smallest valid file of each type. */
export const SMALLEST_FILES = {
  pdf: Buffer.from('%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n'),
  latePdf: Buffer.from('\n%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n'),
  png: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==',
    'base64',
  ),
  jpeg: Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex'),
  gif: Buffer.from('47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b', 'hex'),
  webp: Buffer.from('52494646240000005745425056503820180000003001009d012a0100010002003425a400037000fefb940000', 'hex'),
  heic: Buffer.from('0000001866747970686569630000000068656963686d6966', 'hex'),
  /** A picture with the main brand that every picture in the container has, as some cameras write it. */
  heicOfMif1: heif('mif1', 'mif1', 'heic', 'miaf'),
  heif: heif('mif1', 'mif1', 'miaf'),
  heicSequence: heif('msf1', 'msf1', 'hevc'),
  avif: heif('avif', 'avif', 'mif1', 'miaf'),
  avifOfMif1: heif('mif1', 'mif1', 'avif', 'miaf'),
  tiff: Buffer.from('49492a0008000000000000000000', 'hex'),
  /** An archive of `[Content_Types].xml`, which names a Word document, and of `word/document.xml`. */
  docx: Buffer.from(
    'UEsDBBQAAAAIAAAAAAB2H1eVhAAAAKwAAAATAAAAW0NvbnRlbnRfVHlwZXNdLnhtbD2OQQrCMBAAv1JyFRO9p+3Bu3rwAyHZykJ2N2zSGn8v' +
      'Reh5mGH83CkPG2hF4dFc7cXMk399C9TJPzZQxQTDM2i7B4LRuI9ockniSsDNdspmuAk34LZLowmlZIyhobDbOFkpwJ3yIkqh1bMsC0Y4/L1W' +
      'VCLUivymbA9CAfm0593k3f/nB1BLAwQUAAAACAAAAAAA3VqGDQ8AAAANAAAAEQAAAHdvcmQvZG9jdW1lbnQueG1ssym3SslPLs1NzSvRtwMA' +
      'UEsBAhQAFAAAAAgAAAAAAHYfV5WEAAAArAAAABMAAAAAAAAAAAAAAAAAAAAAAFtDb250ZW50X1R5cGVzXS54bWxQSwECFAAUAAAACAAAAAAA' +
      '3VqGDQ8AAAANAAAAEQAAAAAAAAAAAAAAAAC1AAAAd29yZC9kb2N1bWVudC54bWxQSwUGAAAAAAIAAgCAAAAA8wAAAAAA',
    'base64',
  ),
  zip: Buffer.from(
    'UEsDBBQAAAAIAAAAAABDvrfoAwAAAAEAAAAFAAAAYS50eHRLBABQSwECFAAUAAAACAAAAAAAQ7636AMAAAABAAAABQAAAAAAAAAAAAAA' +
      'AAAAAAAAYS50eHRQSwUGAAAAAAEAAQAzAAAAJgAAAAAA',
    'base64',
  ),
  doc: Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(504)]),
  rtf: Buffer.from('{\\rtf1\\ansi hello}'),
  exe: Buffer.concat([Buffer.from('MZ'), Buffer.alloc(100)]),
  svg: Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
  html: Buffer.from('<!doctype html><script>alert(1)</script>'),
  text: Buffer.from('name;amount\nJörg;1\r\n\tend\n'),
  marked: Buffer.from('\ufeffname;amount'),
  latin1: Buffer.from('J\xf6rg', 'latin1'),
  bytes: Buffer.from('00010203fffefdfc', 'hex'),
};
