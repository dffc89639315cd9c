import { generate } from 'selfsigned';

export interface IssuedCertificate {
  /** PEM of the server's own certificate and its key. */
  cert: string;
  key: string;
  /** PEM of the authority that issued it. */
  authority: string;
}

/** The certificate of a server for this host name and 127.0.0.1, issued by an unknown authority. */
export async function issuedCertificate(host = 'localhost', address = '127.0.0.1'): Promise<IssuedCertificate> {
  const ec = { keyType: 'ec', algorithm: 'sha256' } as const;
  const authority = await generate([{ name: 'commonName', value: 'A private authority' }], {
    ...ec,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  const { cert, private: key } = await generate([{ name: 'commonName', value: host }], {
    ...ec,
    ca: { cert: authority.cert, key: authority.private },
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: host },
          { type: 7, ip: address },
        ],
      },
    ],
  });
  return { cert, key, authority: authority.cert };
}
