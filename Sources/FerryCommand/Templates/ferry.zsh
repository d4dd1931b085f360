#compdef ferry
# Completion of ferry for zsh, created by: ferry completions zsh
_ferry() {
    local line
    local -a offered
    for line in "${(@f)$(ferry __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        case $line in
        :file) compset -P '--*='; _files; return ;;
        :folder) compset -P '--*='; _files -/; return ;;
        ?*) offered+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    _describe ferry offered
}
if [[ $funcstack[1] == _ferry ]]; then
    _ferry "$@"
else
    compdef _ferry ferry
fi
