import type { PlatformFailure, PlatformFailureKind } from '../../lib/platform/platform.ts';

/** The meaning of a failed login to a trading server, and its fix for an operator. */
interface ServerFailure {
  detail: string;
  fix: string;
  /** The server may be all right: it cannot be seen from this machine. */
  unseen?: true;
}

const NO_WEB_API =
  'correct host and port, or have the Web API enabled on this access server, and past a proxy in front of it. The service asks for /api/auth/start, and for /auth_start of older builds';
const PASSWORD =
  "put the manager's API password, which is not its usual one, into the secret: npm run ops -- secret put ID";
const ADDRESS = "look again from the service's own address, and have that one listed on the server";
const SECRET = 'put it into the secret again: npm run ops -- secret put ID';
const CERTIFICATE = 'correct ca or fingerprint of the connection, or have the certificate of the server corrected';

/**
 * The failures, by their reason, that have more to say than their kind. `auth_http_3xx` is each status from 300 to 399,
 * `tls_…` each other error of TLS.
 */
export const SERVER_FAILURES: Readonly<Record<string, ServerFailure>> = {
  auth_http_3xx: { detail: 'reached, but it leads elsewhere, so this is no Web API at this path', fix: NO_WEB_API },
  auth_http_4xx: { detail: 'reached, but this is no Web API at this path', fix: NO_WEB_API },
  auth_http_401: { detail: 'reached, and refuses our login', fix: `${PASSWORD}, or correct host and port` },
  auth_http_5xx: {
    detail: 'reached, but it cannot serve now: the server, or a proxy in front of it, says so',
    fix: 'ask its administrator whether the server runs, and whether the proxy reaches it',
  },
  auth_page: { detail: 'reached, but a page answered, so this is no Web API at this path', fix: NO_WEB_API },
  auth_forbidden: { detail: 'reached, and refuses our password or this address', fix: `${PASSWORD}, or ${ADDRESS}` },
  retcode_1001: { detail: "reached, and refuses the manager's login or its password", fix: PASSWORD },
  retcode_1002: { detail: "reached, and the manager's account is disabled", fix: 'have it enabled on the server' },
  retcode_1012: {
    detail: "reached, and the manager's account may not come from this address",
    fix: ADDRESS,
    unseen: true,
  },
  retcode_1018: { detail: 'reached, and too busy for a login', fix: 'look again in a minute' },
  retcode_1022: { detail: "reached, and the server's license does not allow it", fix: 'ask its administrator' },
  invalid_master: { detail: 'reached, and refuses the master password', fix: SECRET },
  illegal_ip: { detail: 'reached, and refuses this address', fix: ADDRESS, unseen: true },
  closed_without_answer: {
    detail: 'reached, but it ends the connection without an answer, as for addresses that it does not list',
    fix: ADDRESS,
    unseen: true,
  },
  no_answer: {
    detail: 'reached, but it says nothing to WCHKACCOUNT',
    fix: 'add "lacks": ["account_check"] to the connection if the gateway has no WCHKACCOUNT, else ask its administrator whether it has lost the trading server',
  },
  retcode_8: { detail: 'reached, and the manager lacks a right', fix: 'have it given on the server' },
  forbidden: { detail: 'reached, and the manager may not use a path', fix: 'have the right given on the server' },
  login_outside_server_ranges: {
    detail: 'reached, and the login belongs to another server of the cluster, or to none of its ranges',
    fix: "append a range to logins that lies in the server's own ranges",
  },
  server_not_authentic: {
    detail: 'reached, but it does not prove that it knows our password: it is another server, or has another password',
    fix: `look where host and port lead, then ${SECRET}`,
  },
  tls_fingerprint_mismatch: {
    detail: 'reached, but its certificate is not the one of the connection',
    fix: "if the server's certificate was renewed: put the new fingerprint into the connection. Else look where host and port lead",
  },
  tls_ca_malformed: { detail: 'not asked: ca of the connection is no certificate in PEM', fix: CERTIFICATE },
  'tls_…': { detail: 'reached, but its certificate is not trusted', fix: CERTIFICATE },
  miss_master: { detail: 'reached, and lacks the master password', fix: SECRET },
  invalid_data: { detail: 'reached, and refuses the master password or a value', fix: SECRET },
  master_holds_a_key: {
    detail: 'not asked: the master password holds a name of the protocol, such as "GROUP="',
    fix: 'have another one set on the server',
  },
  master_not_transmittable: {
    detail: 'not asked: the master password is too long, or has characters that the code page lacks',
    fix: 'correct code_page of the connection, or have another one set on the server',
  },
  unknown_code_page: { detail: 'not asked: no code page has the name', fix: 'correct code_page of the connection' },
  secret_malformed: { detail: 'not asked: the secret has another shape', fix: SECRET },
  secret_unreadable: {
    detail: 'not asked: the secret cannot be read',
    fix: 'the name of the secret begins as platformSecrets says, and its tag names the version: npm run ops -- secret put ID',
  },
  host_not_listed: {
    detail: 'not asked: the connection leads to a server that its secret does not name',
    fix: 'look who changed the connection, then npm run ops -- secret put ID',
  },
  wants_prefix_z: {
    detail: 'reached, but it has other commands',
    fix: 'the server answers to commands that begin with Z: add "prefix": "Z" to the connection',
  },
  wants_prefix_w: {
    detail: 'reached, but it has other commands',
    fix: 'the server answers to commands that begin with W: remove "prefix" from the connection',
  },
};

/** The failures of a kind. */
const KINDS: Readonly<Partial<Record<PlatformFailureKind, ServerFailure>>> = {
  platform_refused: {
    detail: 'refused',
    fix: 'the server answers, and refuses the secret, the certificate or this address: ask its administrator',
  },
  platform_unavailable: {
    detail: 'not reached',
    fix: 'it cannot be reached from here: start it, or look again from its own network',
    unseen: true,
  },
};
const OTHER: ServerFailure = { detail: 'failed', fix: 'ask its administrator' };

/** The meaning of the failure, with its reason, and its fix. */
export function serverFailure({ kind, reason }: PlatformFailure): ServerFailure {
  const anyOfKind = reason.replace(/^(auth_http_\d)\d\d$/, '$1xx').replace(/^tls_.+$/, 'tls_…');
  const found = SERVER_FAILURES[reason] ?? SERVER_FAILURES[anyOfKind] ?? KINDS[kind] ?? OTHER;
  const [, status] = /^auth_http_(\d+)$/.exec(reason) ?? [];
  return { ...found, detail: `${found.detail}: ${kind} (${status === undefined ? reason : `HTTP ${status}`})` };
}
