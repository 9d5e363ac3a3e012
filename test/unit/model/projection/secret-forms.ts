/** Texts that hold a secret in a form that can be told from its looks, wherever it stands. */
export function secretForms(secret: string): string[] {
  return [
    `-----BEGIN RSA PRIVATE KEY-----\nMII${secret}\n-----END RSA PRIVATE KEY-----`,
    `before -----BEGIN EC PRIVATE KEY-----\n${secret}`,
    `Authorization: Bearer ${secret}`,
    `authorization=Basic ${secret}`,
    `proxy_set_header X-Auth "bearer ${secret}";`,
    `password=${secret}`,
    `user=a password = "${secret} and more" x=1`,
    `dsn: postgres://app:${secret}@db.example.org/x`,
    `password: ${secret}`,
    `  client_secret: '${secret}, with more'`,
    `{"token": "${secret}", "a": 1}`,
    `{"api_key":"${secret}\\"${secret}"}`,
    `tokens:\n  - ${secret}\n  - two\nrest: 1`,
    `private_key: |\n    ${secret}\n    more\nrest: 1`,
    `"credentials": {\n  "a": "${secret}"\n}`,
    `azure {\n  client_secret ${secret}\n}`,
    `aws_access_key AKID ${secret}`,
    `deployment:\n  admin:\n    admin_key:\n      - name: admin\n        key: ${secret}\nrest: 1`,
    `users:\n  - "admin:$apr1$salt$${secret}"`,
    `--api-token=${secret}`,
    `eyJhbGciOi.eyJzdWIi${secret.replaceAll(/[^\w-]/g, '')}.sig`,
  ]
}
