module srcip.dev/testbed/caddyfile

go 1.25.0

require github.com/coredns/caddy v1.1.4-0.20250930002214-15135a999495
