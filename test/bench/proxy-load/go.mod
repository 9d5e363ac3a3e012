module srcip.dev/bench/proxy-load

go 1.24
