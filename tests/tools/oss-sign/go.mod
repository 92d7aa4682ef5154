// Signs requests as Alibaba's own SDK does, to compare with ours.
module binnacle.testbed/oss-sign

go 1.25.0

require github.com/aliyun/aliyun-oss-go-sdk v3.0.2+incompatible

require golang.org/x/time v0.14.0 // indirect
