#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif
internal import FerryCommand

exit(FerryCommand.run(arguments: Array(CommandLine.arguments.dropFirst())))
