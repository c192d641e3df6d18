package lockserver.clients.secure;

/**
 * How a client is let in.
 *
 * @param authority whom it trusts, if it speaks TLS
 * @param certificate what it shows, null for nothing
 * @param user its name, null for none
 * @param password its password, null for none
 */
record Access(String authority, String certificate, String user, String password) {
    static Access tls(String authority, String certificate) {
        return new Access(authority, certificate, null, null);
    }

    static Access user(String user, String password) {
        return new Access(null, null, user, password);
    }
}
