import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { generate } from 'selfsigned';

export interface Certificate {
  /** PEM. */
  key: string;
  /** PEM; self-signed, so it is its own authority. */
  cert: string;
  /** SHA-256 of the certificate, hexadecimal with colons. */
  fingerprint: string;
}

/** A new self-signed certificate for these host names and addresses. */
export async function certificate(hosts: string[] = ['localhost', '127.0.0.1', '::1']): Promise<Certificate> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: hosts[0] ?? 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: hosts.map((host) => (isIP(host) === 0 ? { type: 2, value: host } : { type: 7, ip: host })),
      },
    ],
  });
  return { key, cert, fingerprint: new X509Certificate(cert).fingerprint256 };
}
