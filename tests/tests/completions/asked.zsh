# The shell that is asked: completes as always, prints what it would offer, and changes nothing on its line.
PROMPT=
fpath=($1 $fpath)
autoload -Uz compinit && compinit -D -u
compadd() {
    # What only asks for matches is not for the user.
    if (( ! ${@[(I)-[OAD]]} )); then
        local -a hits
        builtin compadd -A hits "$@"
        for hit in $hits; do print -r -- "offered $hit "; done
    fi
    builtin compadd "$@"
}
offer() {
    _main_complete
    compstate[insert]= compstate[list]=
    print ENDED
}
zle -C offer complete-word offer
bindkey '^I' offer
print READY
